
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the helper says of itself, /v1/status, as parts of the status page.
 * Each section is the lines that begin with its word, one column a field; a
 * line with fewer fields than columns is not shown.
 */


#include "ngx_symcache_status.h"


#define NGX_SYMCACHE_PAGE_COLUMNS  11

/* markup around a field, a row, and the rest */

#define NGX_SYMCACHE_PAGE_CELL     64
#define NGX_SYMCACHE_PAGE_FRAME    8192


typedef enum {
    NGX_SYMCACHE_PAGE_TEXT = 0,
    NGX_SYMCACHE_PAGE_KEY,
    NGX_SYMCACHE_PAGE_NOTE,        /* a sentence */
    NGX_SYMCACHE_PAGE_HEALTH,
    NGX_SYMCACHE_PAGE_NUMBER,
    NGX_SYMCACHE_PAGE_MSEC,        /* shown as seconds */
    NGX_SYMCACHE_PAGE_BYTES,       /* shown as megabytes */
    NGX_SYMCACHE_PAGE_TIME,        /* shown as seconds ago; may be empty */
    NGX_SYMCACHE_PAGE_LEFT,        /* seconds; nothing if there are none */
    NGX_SYMCACHE_PAGE_FLAG
} ngx_symcache_page_type_e;


typedef struct {
    const char                *key;     /* JSON */
    const char                *title;
    ngx_symcache_page_type_e   type;
} ngx_symcache_page_column_t;


typedef struct {
    const char                  *word;
    const char                  *key;
    const char                  *title;
    const char                  *none;
    ngx_uint_t                   n;
    ngx_symcache_page_column_t  *columns;
} ngx_symcache_page_section_t;


static ngx_uint_t ngx_symcache_page_line(ngx_str_t *rest, const char *word,
    ngx_str_t *fields, ngx_uint_t n);
static u_char *ngx_symcache_page_html_section(u_char *p, u_char *last,
    ngx_symcache_page_t *page, ngx_symcache_page_section_t *section);
static u_char *ngx_symcache_page_html_totals(u_char *p, u_char *last,
    ngx_symcache_page_section_t *section, ngx_str_t *rest);
static u_char *ngx_symcache_page_html_field(u_char *p, u_char *last,
    ngx_symcache_page_column_t *column, ngx_str_t *field);
static u_char *ngx_symcache_page_json_row(u_char *p, u_char *last,
    ngx_symcache_page_column_t *columns, ngx_uint_t n, ngx_str_t *fields);
static ngx_uint_t ngx_symcache_page_number(ngx_str_t *field);


static ngx_symcache_page_column_t  ngx_symcache_page_totals[] = {
    { "total", "Jobs", NGX_SYMCACHE_PAGE_NUMBER },
    { "queued", "Waiting for a slot", NGX_SYMCACHE_PAGE_NUMBER },
    { "downloading", "Asking sources", NGX_SYMCACHE_PAGE_NUMBER },
    { "transcoding", "Transcoding", NGX_SYMCACHE_PAGE_NUMBER },
    { "waiters", "Lookups that wait", NGX_SYMCACHE_PAGE_NUMBER }
};


static ngx_symcache_page_column_t  ngx_symcache_page_jobs[] = {
    { "store", "Store", NGX_SYMCACHE_PAGE_TEXT },
    { "key", "PDB", NGX_SYMCACHE_PAGE_KEY },
    { "version", "Version", NGX_SYMCACHE_PAGE_TEXT },
    { "state", "State", NGX_SYMCACHE_PAGE_TEXT },
    { "source", "Source", NGX_SYMCACHE_PAGE_TEXT },
    { "ms", "Seconds", NGX_SYMCACHE_PAGE_MSEC },
    { "waiters", "Lookups", NGX_SYMCACHE_PAGE_NUMBER },
    { "upgrade", "Upgrade", NGX_SYMCACHE_PAGE_FLAG }
};


static ngx_symcache_page_column_t  ngx_symcache_page_sources[] = {
    { "name", "Source", NGX_SYMCACHE_PAGE_TEXT },
    { "type", "Type", NGX_SYMCACHE_PAGE_TEXT },
    { "health", "Health", NGX_SYMCACHE_PAGE_HEALTH },
    { "not_asked_for", "For", NGX_SYMCACHE_PAGE_LEFT },
    { "found", "Found", NGX_SYMCACHE_PAGE_NUMBER },
    { "not_found", "Not there", NGX_SYMCACHE_PAGE_NUMBER },
    { "unusable", "Unusable", NGX_SYMCACHE_PAGE_NUMBER },
    { "failed", "Failed", NGX_SYMCACHE_PAGE_NUMBER },
    { "bytes", "MB", NGX_SYMCACHE_PAGE_BYTES },
    { "failed_at", "Last failure", NGX_SYMCACHE_PAGE_TIME },
    { "failure", "What it was", NGX_SYMCACHE_PAGE_NOTE }
};


static ngx_symcache_page_column_t  ngx_symcache_page_misses[] = {
    { "time", "When", NGX_SYMCACHE_PAGE_TIME },
    { "store", "Store", NGX_SYMCACHE_PAGE_TEXT },
    { "key", "PDB", NGX_SYMCACHE_PAGE_KEY },
    { "version", "Version", NGX_SYMCACHE_PAGE_TEXT },
    { "outcome", "Outcome", NGX_SYMCACHE_PAGE_TEXT },
    { "reason", "Reason", NGX_SYMCACHE_PAGE_NOTE }
};


#define ngx_symcache_page_columns(a)  sizeof(a) / sizeof((a)[0]), a


static ngx_symcache_page_section_t  ngx_symcache_page_sections[] = {
    { "helper", "jobs", "Helper", "",
      ngx_symcache_page_columns(ngx_symcache_page_totals) },
    { "job", "running", "Running jobs", "No job runs.",
      ngx_symcache_page_columns(ngx_symcache_page_jobs) },
    { "source", "sources", "Upstream sources", "No source is configured.",
      ngx_symcache_page_columns(ngx_symcache_page_sources) },
    { "miss", "misses", "Latest jobs without a file",
      "Every job so far has made its file.",
      ngx_symcache_page_columns(ngx_symcache_page_misses) }
};


#define NGX_SYMCACHE_PAGE_SECTIONS                                            \
    (sizeof(ngx_symcache_page_sections)                                       \
     / sizeof(ngx_symcache_page_section_t))


size_t
ngx_symcache_page_size(ngx_symcache_page_t *page)
{
    size_t      size;
    ngx_uint_t  i;

    /* "&quot;" and "\u001f": six bytes for one */

    size = NGX_SYMCACHE_PAGE_FRAME + 6 * page->body.len;

    for (i = 0; i < page->body.len; i++) {
        if (page->body.data[i] == '\t' || page->body.data[i] == LF) {
            size += NGX_SYMCACHE_PAGE_CELL;
        }
    }

    return size;
}


/* the next line of this kind; what is left of the body goes on in *rest */

static ngx_uint_t
ngx_symcache_page_line(ngx_str_t *rest, const char *word, ngx_str_t *fields,
    ngx_uint_t n)
{
    u_char      *p, *end, *tab;
    size_t       len;
    ngx_uint_t   i;

    len = ngx_strlen(word);

    while (rest->len) {

        p = rest->data;
        end = ngx_strlchr(p, p + rest->len, LF);

        if (end == NULL) {

            /* cut: not a whole line */

            rest->len = 0;
            break;
        }

        rest->data = end + 1;
        rest->len -= end + 1 - p;

        if ((size_t) (end - p) <= len || ngx_strncmp(p, word, len) != 0
            || p[len] != '\t')
        {
            continue;
        }

        p += len + 1;

        for (i = 0; i < n; i++) {
            tab = ngx_strlchr(p, end, '\t');

            fields[i].data = p;
            fields[i].len = (tab ? tab : end) - p;

            if (tab == NULL) {
                i++;
                break;
            }

            p = tab + 1;
        }

        if (i == n) {
            return 1;
        }
    }

    return 0;
}


u_char *
ngx_symcache_page_html(u_char *p, u_char *last, ngx_symcache_page_t *page)
{
    ngx_uint_t  i;

    if (page->state == NGX_SYMCACHE_PAGE_NONE) {
        return ngx_slprintf(p, last,
            "<section>\n<h2>Helper</h2>\n<p id=\"helper\">Not shown: this "
            "location has no <code>symcache_pass</code>.</p>\n</section>\n");
    }

    if (page->state == NGX_SYMCACHE_PAGE_SILENT) {
        return ngx_slprintf(p, last,
            "<section>\n<h2>Helper</h2>\n<p id=\"helper\" class=\"bad\">"
            "<strong>The helper does not answer.</strong> What is in the "
            "store is served all the same; what is not is answered "
            "&ldquo;later&rdquo;. See the error log.</p>\n</section>\n");
    }

    for (i = 0; i < NGX_SYMCACHE_PAGE_SECTIONS; i++) {
        p = ngx_symcache_page_html_section(p, last, page,
                                           &ngx_symcache_page_sections[i]);
    }

    return p;
}


static u_char *
ngx_symcache_page_html_section(u_char *p, u_char *last,
    ngx_symcache_page_t *page, ngx_symcache_page_section_t *section)
{
    ngx_str_t                    rest, fields[NGX_SYMCACHE_PAGE_COLUMNS];
    ngx_uint_t                   i, rows;
    ngx_symcache_page_column_t  *column;

    p = ngx_slprintf(p, last, "<section>\n<h2>%s</h2>\n", section->title);

    rest = page->body;

    if (section->columns == ngx_symcache_page_totals) {
        p = ngx_symcache_page_html_totals(p, last, section, &rest);

        return ngx_slprintf(p, last, "</section>\n");
    }

    for (rows = 0; ngx_symcache_page_line(&rest, section->word, fields,
                                          section->n); rows++)
    {
        if (rows == 0) {
            p = ngx_slprintf(p, last, "<div class=\"wide\"><table id=\"%s\">\n"
                             "<thead><tr>", section->key);

            for (i = 0; i < section->n; i++) {
                column = &section->columns[i];
                p = ngx_slprintf(p, last, "<th scope=\"col\"%s>%s</th>",
                                 column->type <= NGX_SYMCACHE_PAGE_HEALTH
                                 ? "" : " class=\"n\"", column->title);
            }

            p = ngx_slprintf(p, last, "</tr></thead>\n<tbody>\n");
        }

        p = ngx_slprintf(p, last, "<tr>");

        for (i = 0; i < section->n; i++) {
            p = ngx_symcache_page_html_field(p, last, &section->columns[i],
                                             &fields[i]);
        }

        p = ngx_slprintf(p, last, "</tr>\n");
    }

    if (rows) {
        p = ngx_slprintf(p, last, "</tbody>\n</table></div>\n");

    } else {
        p = ngx_slprintf(p, last, "<p id=\"%s\">%s</p>\n", section->key,
                         section->none);
    }

    return ngx_slprintf(p, last, "</section>\n");
}


static u_char *
ngx_symcache_page_html_totals(u_char *p, u_char *last,
    ngx_symcache_page_section_t *section, ngx_str_t *rest)
{
    ngx_str_t   fields[NGX_SYMCACHE_PAGE_COLUMNS];
    ngx_uint_t  i;

    if (!ngx_symcache_page_line(rest, section->word, fields, section->n)) {
        return p;
    }

    p = ngx_slprintf(p, last, "<dl>\n");

    for (i = 0; i < section->n; i++) {
        p = ngx_slprintf(p, last,
                         "<div><dt>%s</dt>"
                         "<dd data-key=\"%s\">%ui</dd></div>\n",
                         section->columns[i].title, section->columns[i].key,
                         ngx_symcache_page_number(&fields[i]));
    }

    return ngx_slprintf(p, last, "</dl>\n");
}


static u_char *
ngx_symcache_page_html_field(u_char *p, u_char *last,
    ngx_symcache_page_column_t *column, ngx_str_t *field)
{
    time_t      ago;
    ngx_uint_t  n, bad;

    n = ngx_symcache_page_number(field);

    switch (column->type) {

    case NGX_SYMCACHE_PAGE_NUMBER:
        return ngx_slprintf(p, last, "<td class=\"n\">%ui</td>", n);

    case NGX_SYMCACHE_PAGE_MSEC:
        return ngx_slprintf(p, last, "<td class=\"n\">%ui.%ui</td>",
                            n / 1000, n % 1000 / 100);

    case NGX_SYMCACHE_PAGE_BYTES:
        return ngx_slprintf(p, last, "<td class=\"n\">%ui.%ui</td>",
                            n / 1000000, n % 1000000 / 100000);

    case NGX_SYMCACHE_PAGE_TIME:

        if (n == 0) {
            return ngx_slprintf(p, last, "<td class=\"n\">never</td>");
        }

        ago = ngx_max(ngx_time() - (time_t) n, 0);

        return ngx_slprintf(p, last, "<td class=\"n\">%T s ago</td>", ago);

    case NGX_SYMCACHE_PAGE_LEFT:

        if (n == 0) {
            return ngx_slprintf(p, last, "<td></td>");
        }

        return ngx_slprintf(p, last, "<td class=\"n\">%ui s</td>", n);

    case NGX_SYMCACHE_PAGE_FLAG:
        return ngx_slprintf(p, last, "<td class=\"n\">%s</td>",
                            n ? "yes" : "no");

    case NGX_SYMCACHE_PAGE_HEALTH:

        /* "ok" and "not asked yet" are no news */

        bad = field->len < 2
              || (ngx_strncmp(field->data, "ok", 2) != 0
                  && ngx_strncmp(field->data, "no", 2) != 0);

        p = ngx_slprintf(p, last, "<td>%s", bad ? "<strong>" : "");
        p = ngx_symcache_status_copy(p, last, field, 1);

        return ngx_slprintf(p, last, "%s</td>", bad ? "</strong>" : "");

    default: /* TEXT, KEY, NOTE */
        p = ngx_slprintf(p, last, "<td%s>",
                         column->type == NGX_SYMCACHE_PAGE_KEY
                         ? " class=\"k\""
                         : column->type == NGX_SYMCACHE_PAGE_NOTE
                           ? " class=\"t\"" : "");
        p = ngx_symcache_status_copy(p, last, field, 1);

        return ngx_slprintf(p, last, "</td>");
    }
}


u_char *
ngx_symcache_page_json(u_char *p, u_char *last, ngx_symcache_page_t *page)
{
    ngx_str_t                     rest, fields[NGX_SYMCACHE_PAGE_COLUMNS];
    ngx_uint_t                    i, rows;
    ngx_symcache_page_section_t  *section;

    static const char  *states[] = { "none", "silent", "answered" };

    p = ngx_slprintf(p, last, "{\"state\":\"%s\"", states[page->state]);

    if (page->state != NGX_SYMCACHE_PAGE_ANSWERED) {
        return ngx_slprintf(p, last, "}");
    }

    for (i = 0; i < NGX_SYMCACHE_PAGE_SECTIONS; i++) {

        section = &ngx_symcache_page_sections[i];

        /* the first one is not a list */

        p = ngx_slprintf(p, last, ",\"%s\":%s", section->key, i ? "[" : "");

        rest = page->body;

        for (rows = 0; ngx_symcache_page_line(&rest, section->word, fields,
                                              section->n); rows++)
        {
            if (rows) {

                if (i == 0) {
                    break;
                }

                p = ngx_slprintf(p, last, ",");
            }

            p = ngx_symcache_page_json_row(p, last, section->columns,
                                           section->n, fields);
        }

        p = ngx_slprintf(p, last, "%s", i ? "]" : rows ? "" : "{}");
    }

    return ngx_slprintf(p, last, "}");
}


static u_char *
ngx_symcache_page_json_row(u_char *p, u_char *last,
    ngx_symcache_page_column_t *columns, ngx_uint_t n, ngx_str_t *fields)
{
    ngx_uint_t  i;

    for (i = 0; i < n; i++) {

        p = ngx_slprintf(p, last, "%s\"%s\":", i ? "," : "{", columns[i].key);

        switch (columns[i].type) {

        case NGX_SYMCACHE_PAGE_TEXT:
        case NGX_SYMCACHE_PAGE_KEY:
        case NGX_SYMCACHE_PAGE_NOTE:
        case NGX_SYMCACHE_PAGE_HEALTH:
            p = ngx_slprintf(p, last, "\"");
            p = ngx_symcache_status_copy(p, last, &fields[i], 0);
            p = ngx_slprintf(p, last, "\"");
            break;

        case NGX_SYMCACHE_PAGE_FLAG:
            p = ngx_slprintf(p, last, "%s",
                             ngx_symcache_page_number(&fields[i]) ? "true"
                                                                  : "false");
            break;

        default:
            p = ngx_slprintf(p, last, "%ui",
                             ngx_symcache_page_number(&fields[i]));
            break;
        }
    }

    return ngx_slprintf(p, last, "}");
}


/* 0 also for what is none */

static ngx_uint_t
ngx_symcache_page_number(ngx_str_t *field)
{
    off_t  n;

    n = ngx_atoof(field->data, field->len);

    return (n == NGX_ERROR) ? 0 : (ngx_uint_t) n;
}
