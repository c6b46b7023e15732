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

const isNumber = value => typeof value === 'number';
const plural = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

function count(value) {
    return isNumber(value) ? value.toLocaleString('en') : value ?? '';
}

// "17 min" of 1004 seconds: its largest unit.
function duration(seconds) {
    const units = [[86400, 'day'], [3600, 'h'], [60, 'min'], [1, 's']];
    const [size, unit] = units.find(([n]) => seconds >= n) ?? [1, 's'];
    const n = Math.max(Math.floor(seconds / size), 0);

    return unit === 'day' ? plural(n, unit) : `${n} ${unit}`;
}

// "1.5 GB" in powers of 1000, as disks are sold and as Prometheus' panels are.
function bytes(value) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let i = 0;

    if (!isNumber(value)) {
        return value ?? '';
    }
    while (value >= 999.5 && i < units.length - 1) {
        value /= 1000;
        i++;
    }
    return `${value < 10 && i > 0 ? value.toFixed(1) : Math.round(value)} ${
        units[i]}`;
}

// Not rounded up: 100 % are all.
function percent(part, whole) {
    return whole > 0 ? `${(Math.floor(1000 * part / whole) / 10).toFixed(1)} %`
        : '–';
}

// The data-as of a column; "now" is the server's, as the times are.
const formats = {
    text: value => value ?? '',
    count,
    bytes,
    counted: (value, row) => row.counted ? count(value) : '–',
    countedBytes: (value, row) => row.counted ? bytes(value) : '–',
    free: (value, row) =>
        row.size ? `${bytes(value)} (${percent(value, row.size)})` : 'unknown',
    key: (value, row) => `${value}/${row.id}`,
    flag: value => value ? 'yes' : 'no',
    configuration: value => value ? 'not the file’s' : 'the file’s',
    milliseconds: value => value < 10000 ? `${(value / 1000).toFixed(1)} s`
        : duration(value / 1000),
    left: value => value ? duration(value) : '',
    ago: (value, row, now) =>
        value ? `${duration(now - value)} ago` : 'never',
};

// Which values of a field are news that stand out.
const news = {
    health: value => !['ok', 'not asked yet'].includes(value),
    read: value => value !== 'closed',
    write: value => value !== 'closed',
    config_stale: value => value !== false,
    free: (value, row) => row.size > 0 && value <= row.kept,
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
            const stands = news[field]?.(row[field], row) ?? false;

            td.className = stands ? 'warn' : th.className;
            td.dataset.label = th.textContent.replace(/\s+/g, ' ');
            put(td, formats[as](row[field], row, now));
        });
    });
}

// What curves are made of: counters, and numbers of the moment.  A request that
// failed should have had a file, so that it counts against the hits.
function totalsOf(status) {
    const {hit, stale, miss, held, pending, absent, error} = status.requests;
    const sent = hit + stale + miss + held;
    const totals = {
        hits: hit + stale, sent, due: sent + error, pending, absent, error,
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
    if (values.due > 0 && values.hits >= 0) {
        values.ratio = 100 * (totals.hits - last.totals.hits)
            / (totals.due - last.totals.due);
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

// An even digit or 1 with zeros, so that the scale does not move all the time
// and its middle is a short number.
function scaleFor(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    const top = [1, 2, 4, 6, 8, 10].map(n => n * power).find(n => n >= value);

    return short(top ?? value);
}

// Two digits, or three from ten on.
function short(value) {
    return Number(value.toPrecision(value < 10 ? 2 : 3));
}

// "20K" of 20000.
function compact(value) {
    return short(value).toLocaleString('en', {notation: 'compact'});
}

// Path data.  The line is broken where values are missing, or nothing was
// asked, and where it would hide the axis: at zero.
function curve(name, top, span) {
    const end = points.at(-1).at;
    let data = '';
    let last = null;

    points.forEach(({at, values}, i) => {
        const value = values[name];
        const around = [points[i - 1], points[i + 1]];

        if (value === undefined
            || (value === 0 && !around.some(p => p?.values[name] > 0))) {
            last = null;
            return;
        }

        const x = WIDTH * (1 - (end - at) / span);
        const y = HEIGHT * (1 - value / top);
        const joined = last !== null && at - last < 3 * INTERVAL;

        data += `${joined ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`;
        data += joined ? '' : 'h0';
        last = at;
    });
    return data;
}

function addSvg(svg, name, attributes) {
    const node = svg.appendChild(
        document.createElementNS('http://www.w3.org/2000/svg', name));

    for (const [key, value] of Object.entries(attributes)) {
        node.setAttribute(key, value);
    }
    return node;
}

function startChart(svg, names) {
    svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    svg.setAttribute('preserveAspectRatio', 'none');
    for (const y of [0, HEIGHT / 2]) {
        addSvg(svg, 'line', {x1: 0, x2: WIDTH, y1: y, y2: y});
    }
    for (const name of names) {
        addSvg(svg, 'path', {'data-series': name});
    }
}

function showChart(figure) {
    const svg = figure.querySelector('svg');
    const names = all('li', figure).map(li => li.dataset.series);
    const shown = points.flatMap(point => names.map(n => point.values[n] ?? 0));
    const top = Number(figure.dataset.top
        ?? scaleFor(Math.max(figure.dataset.least, ...shown)));
    const span = Math.max(points.at(-1).at - points[0].at, SPAN[0]);
    const [high, middle] = all('.y span', figure);

    if (svg.children.length === 0) {
        startChart(svg, names);
    }
    put(high, compact(top));
    put(middle, compact(top / 2));
    put(figure.querySelector('.x span'), `${duration(span / 1000)} ago`);

    names.forEach((name, i) => {
        const value = points.at(-1).values[name];

        all('path', svg)[i].setAttribute('d', curve(name, top, span));
        put(figure.querySelector(`li[data-series=${name}] b`),
            value === undefined ? '–' : compact(value));
    });
}

// What an operator should know first, in sentences.
function troublesOf(status) {
    const {jobs = {}, not_ready, uploads_not_ready, disks = [], sources = [],
        tiers = [], symbolicated = []} = status.helper;
    const hangs = (why, isFailed) =>
        why === 'no-disk' && !disks.some(d => d.failure && isFailed(d));
    const first = points[0];
    const failed = status.requests.error - first.totals.error;
    const list = [];

    if (not_ready === 'draining') {
        list.push('symcached drains: lookups that need a new job are refused.');
    } else if (hangs(not_ready, d => d.kind !== 'uploads')) {
        list.push('A disk of symcached does not answer.');
    }
    if (hangs(uploads_not_ready, d => d.kind === 'uploads')) {
        list.push('The disk of uploads does not answer.');
    }
    if (uploads_not_ready === 'no-tier') {
        list.push('Uploads are refused: their tier takes no files.');
    }
    for (const disk of disks.filter(d => d.failure)) {
        if (!news.free(disk.free, disk)) {
            list.push(`No file can be written in ${disk.path}: ${
                disk.failure}`);
        } else {
            list.push(`The disk of ${disk.path} is full: ${bytes(disk.free)
                } are free, cache.min_free keeps ${bytes(disk.kept)}.`);
        }
    }
    if (jobs.queue && jobs.queued >= jobs.queue) {
        list.push(`The queue is full: ${plural(jobs.queued, 'job')
            } wait for a slot, and more are refused.`);
    }
    for (const source of sources.filter(s => news.health(s.health))) {
        list.push(`Source ${source.name} is ${source.health}${
            source.not_asked_for ? ` for ${duration(source.not_asked_for)}` : ''
            }: ${source.failure}${source.failed_first ? ` (first ${
                duration(status.time - source.failed_first)} ago, last ${
                duration(status.time - source.failed_at)} ago)` : ''}`);
    }
    for (const tier of tiers) {
        for (const way of ['read', 'write'].filter(w => news[w](tier[w]))) {
            list.push(`Tier ${tier.name}: the breaker for its ${way}s is ${
                tier[way].replace('_', ' ')}: ${tier.failure}`);
        }
    }
    for (const machine of symbolicated.filter(s => s.config_stale)) {
        list.push(`symbolicated on ${machine.name
            } does not run on its file’s configuration.`);
    }
    if (failed > 0) {
        list.push(`${plural(failed, 'request')} failed in the last ${
            duration((points.at(-1).at - first.at) / 1000)}.`);
    }
    return list;
}

function showTroubles(status) {
    const list = byId('troubles');
    const texts = troublesOf(status);
    const {state, config_stale} = status.helper;
    const fine = texts.length === 0 && state !== 'silent' && !config_stale;

    while (list.children.length > texts.length) {
        list.lastChild.remove();
    }
    texts.forEach((text, i) => {
        put(list.children[i]
            ?? list.appendChild(document.createElement('li')), text);
    });
    list.hidden = texts.length === 0;
    byId('fine').hidden = !fine;
    document.title = `${fine ? '' : '⚠ '}SymCache: ${status.zone}`;
}

function showNumbers(status) {
    const {hits, due, error} = totalsOf(status);
    const {requests, helper} = status;
    const counts = {...requests, ...status.counters};
    const finished = Object.values(requests).reduce((sum, n) => sum + n, 0);

    put(byId('zone'), `, zone ${status.zone}`);
    put(byId('time'), `At ${new Date(status.time * 1000).toUTCString()}.`);
    put(byId('ratio'), percent(hits, due));
    put(byId('errors'), percent(error, finished));
    put(byId('keys'), count(status.keys));
    put(byId('free'), `${bytes(status.free)} of ${bytes(status.size)}`);
    put(byId('version'), helper.version ?? '');
    put(byId('uptime'), helper.started
        ? duration(status.time - helper.started) : '–');

    for (const cell of all('[data-count]')) {
        put(cell, count(counts[cell.dataset.count]));
    }
    for (const cell of all('[data-job]')) {
        const value = helper.jobs?.[cell.dataset.job];

        put(cell, typeof value === 'boolean' ? formats.flag(value)
            : count(value));
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
        'tenants', 'misses', 'disks']) {
        showTable(byId(name), helper[name] ?? [], status.time);
    }
    all('figure').forEach(showChart);
    showTroubles(status);
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
