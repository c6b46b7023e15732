/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploads as clients of Pyroscope send them (Alloy, profilecli), to its
 * DebuginfoService in version v1alpha1, below /v1/pyroscope/:
 *
 *   POST ShouldInitiateUpload   is the file with a build id wanted?
 *   POST Upload/<build id>      the ELF file
 *   POST UploadFinished         has it become an upload?
 *
 * The calls are those of the Connect protocol (connectrpc.com/docs/protocol),
 * in protobuf or JSON; gRPC needs another transport.
 */
#ifndef SYMCACHED_SERVER_PYROSCOPE_PAGE_H
#define SYMCACHED_SERVER_PYROSCOPE_PAGE_H

struct config;
struct evhttp_request;
struct pyroscope;
struct uploads;
struct url_path;

/* Returns NULL when out of memory. */
struct pyroscope *pyroscope_new(struct uploads *uploads);
void pyroscope_free(struct pyroscope *pyroscope); /* NULL is allowed */

void pyroscope_page(struct pyroscope *pyroscope, const struct config *config,
                    const struct url_path *path, struct evhttp_request *req);

#endif
