/*
 * Copyright (C) the ngx_symcache authors
 *
 * Asks for the JSON form every five seconds, puts it into the page, and draws
 * curves of what has come since the page was opened.  Names in it are those of
 * clients and of other servers: all are put in as text, never as markup.
 */

'use strict';

const INTERVAL = 5000;
const PATIENCE = 10000;
const SPAN = [60000, 600000]; // of the curves, least and most
const WIDTH = 600;
const HEIGHT = 100;

const points = []; // {at, totals, values}, oldest first
let paused = new URLSearchParams(location.search).get('refresh') === 'off';
let asking = false;
let timer;

const byId = id => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// Changes only what is different, so that a selection of the reader's stays.
function put(node, value) {
    const text = String(value);

    if (node.textContent !== text) {
        node.textContent = text;
    }
}

// The data-as of a column; "now" is the server's, as the times are.
const formats = {
    text: value => value ?? '',
    key: (value, row) => `${value}/${row.id}`,
    flag: value => value ? 'yes' : 'no',
    configuration: value => value ? 'not the file’s' : 'the file’s',
    seconds: value => (value / 1000).toFixed(1),
    megabytes: value => (value / 1e6).toFixed(1),
    left: value => value ? `${value} s` : '',
    ago: (value, row, now) =>
        value ? `${Math.max(now - value, 0)} s ago` : 'never',
};

function showTable(table, rows, now) {
    const section = table.closest('section');
    const body = table.tBodies[0];

    section.querySelector('.none').hidden = rows.length > 0;
    section.querySelector('.wide').hidden = rows.length === 0;

    while (body.rows.length > rows.length) {
        body.deleteRow(-1);
    }
    rows.forEach((row, i) => {
        const tr = body.rows[i] ?? body.insertRow();

        [...table.tHead.rows[0].cells].forEach((th, j) => {
            const td = tr.cells[j] ?? tr.insertCell();
            const {field, as = 'text'} = th.dataset;
            const fine = {health: ['ok', 'not asked yet'],
                read: ['closed'], write: ['closed'],
                config_stale: [false]}[field];
            const news = fine !== undefined && !fine.includes(row[field]);

            td.className = news ? 'warn' : th.className;
            put(td, formats[as](row[field], row, now));
        });
    });
}

// What curves are made of: counters, and numbers of the moment.
function totalsOf(status) {
    const {hit, stale, miss, held, pending, absent, error} = status.requests;
    const totals = {
        hits: hit + stale, sent: hit + stale + miss + held,
        pending, absent, error,
    };

    for (const source of status.helper.sources ?? []) {
        for (const name of ['found', 'not_found', 'unusable', 'failed']) {
            totals[name] = (totals[name] ?? 0) + source[name];
        }
    }
    return totals;
}

// Values of the curves, by data-series; none of a counter that began again.
function valuesOf(status, totals, since, last) {
    const {queued, downloading, transcoding, waiters} =
        status.helper.jobs ?? {};
    const values = {queued, downloading, transcoding, waiters};

    for (const name of last ? Object.keys(totals) : []) {
        const more = totals[name] - last.totals[name];

        if (more >= 0) {
            values[name] = more * 1000 / since;
        }
    }
    if (values.sent > 0 && values.hits >= 0) {
        values.ratio = 100 * (totals.hits - last.totals.hits)
            / (totals.sent - last.totals.sent);
    }
    return values;
}

function remember(status) {
    const at = performance.now();
    const last = points.at(-1);
    const totals = totalsOf(status);

    points.push({at, totals,
                 values: valuesOf(status, totals, at - last?.at, last)});
    while (points[0].at < at - SPAN[1]) {
        points.shift();
    }
}

// 1, 2 or 5 with zeros behind it, so that the scale does not move all the time.
function scaleFor(value) {
    const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));

    return [1, 2, 5, 10].map(n => n * power).find(n => n >= value);
}

// Path data; the line is broken where values are missing, or nothing was asked.
function curve(name, top) {
    const end = points.at(-1).at;
    const span = Math.max(end - points[0].at, SPAN[0]);
    let data = '';
    let last = null;

    for (const {at, values} of points) {
        const value = values[name];

        if (value === undefined) {
            last = null;
            continue;
        }

        const x = WIDTH * (1 - (end - at) / span);
        const y = HEIGHT * (1 - value / top);
        const joined = last !== null && at - last < 3 * INTERVAL;

        data += `${joined ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`;
        data += joined ? '' : 'h0';
        last = at;
    }
    return data;
}

function showChart(figure) {
    const svg = figure.querySelector('svg');
    const names = all('[data-series]', figure).map(li => li.dataset.series);
    const shown = points.flatMap(point => names.map(n => point.values[n] ?? 0));
    const top = Number(figure.dataset.top ?? scaleFor(Math.max(...shown)));

    put(figure.querySelector('.top'), top);
    svg.setAttribute('viewBox', `0 -4 ${WIDTH} ${HEIGHT + 8}`);
    svg.setAttribute('preserveAspectRatio', 'none');

    names.forEach((name, i) => {
        const value = points.at(-1).values[name];
        const path = svg.children[i] ?? svg.appendChild(
            document.createElementNS('http://www.w3.org/2000/svg', 'path'));

        path.setAttribute('d', curve(name, top));
        put(figure.querySelector(`[data-series=${name}] b`),
            value === undefined ? '–' : Math.round(value * 10) / 10);
    });
}

function showNumbers(status) {
    const {hits, sent} = totalsOf(status);
    const counts = {...status.requests, ...status.counters};
    const kilobytes = bytes => Math.floor(bytes / 1024);

    document.title = `SymCache: ${status.zone}`;
    put(byId('zone'), `, zone ${status.zone}`);
    put(byId('time'), `At ${new Date(status.time * 1000).toUTCString()}.`);
    put(byId('keys'), status.keys);
    put(byId('free'), `${kilobytes(status.free)} of ${
        kilobytes(status.size)} KB`);

    // not rounded up: 100 % are all
    put(byId('ratio'), `${
        (sent ? Math.floor(1000 * hits / sent) / 10 : 0).toFixed(1)} %`);

    for (const cell of all('[data-count]')) {
        put(cell, counts[cell.dataset.count]);
    }
    for (const cell of all('[data-job]')) {
        put(cell, status.helper.jobs?.[cell.dataset.job] ?? '');
    }
}

function show(status) {
    const {helper} = status;

    remember(status);
    showNumbers(status);
    showTable(byId('recent'), status.recent, status.time);

    for (const part of all('[data-state]')) {
        part.hidden = part.dataset.state !== helper.state;
    }
    put(byId('reason'), helper.reason ?? '');
    put(byId('stale-why'), helper.config_stale ?? '');
    byId('stale').hidden = !helper.config_stale;
    for (const name of ['running', 'sources', 'tiers', 'symbolicated',
        'tenants', 'misses']) {
        showTable(byId(name), helper[name] ?? [], status.time);
    }
    all('figure').forEach(showChart);
    byId('live').hidden = false;
}

function say(trouble) {
    put(byId('trouble'), trouble);
    byId('trouble').hidden = trouble === '';
}

async function ask() {
    clearTimeout(timer);
    if (asking) {
        return;
    }

    asking = true;
    try {
        const answer = await fetch('?format=json', {
            cache: 'no-store', signal: AbortSignal.timeout(PATIENCE)});

        if (!answer.ok) {
            throw new Error(`status ${answer.status}`);
        }
        show(await answer.json());
        say('');
    } catch (error) {
        say(`The server gave no answer (${error.message}). What is shown is `
            + 'what was known before.');
    }
    asking = false;

    wait();
}

function wait() {
    if (!paused && !document.hidden) {
        timer = setTimeout(ask, INTERVAL);
    }
}

// A page that is paused or hidden asks nothing; one that is back asks at once.
function turn() {
    byId('pause').setAttribute('aria-pressed', paused);
    if (!paused && !document.hidden) {
        ask();
    } else {
        clearTimeout(timer);
    }
}

byId('pause').addEventListener('click', () => {
    paused = !paused;
    turn();
});
document.addEventListener('visibilitychange', turn);
turn();
if (paused) {
    ask();
}
