/*
 * Copyright (C) the ngx_symcache authors
 *
 * The file at a URL, one step of a lookup: it is received and published
 * unchanged, whatever its format.  Its properties from the answer are kept
 * with it, see proto/properties.h.
 */
#pragma once

struct lookup;

/*
 * The first step of a lookup at a source that has files at URLs: fetches
 * lookup->url, and ends the lookup.  A source with a url has what is below it,
 * and its credentials are sent for that, to the URL's own origin; but not if a
 * client names the URL.  Private, loopback and link-local addresses are reached
 * as far as the source may, and as clients' files may (tenants_may_reach()).
 */
void source_url_begin(struct lookup *lookup);
