/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process's side of Kerberos tokens.
 */
#include <gssapi/gssapi.h>
#include <stdio.h>
#include <string.h>

#include "child/child.h"
#include "spnego.h"

static gss_OID_desc spnego_spnego = {6, "\x2b\x06\x01\x05\x05\x02"};
static gss_OID_desc spnego_krb5 = {9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};

/* Writes "Negotiate " and the token in base64.  Returns an exit code. */
static int spnego_write(const gss_buffer_desc *token)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = token->value;
    size_t left = token->length, n, i;
    FILE *file = fdopen(CHILD_FD, "w");
    unsigned bits;

    if (file == NULL) {
        return 2;
    }

    fputs("Negotiate ", file);
    for (; left > 0; left -= n, p += n) {
        n = left < 3 ? left : 3;
        bits = (unsigned)p[0] << 16;
        bits |= n > 1 ? (unsigned)p[1] << 8 : 0;
        bits |= n > 2 ? p[2] : 0;
        for (i = 0; i < 4; i++) {
            fputc(i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=', file);
        }
    }
    return fclose(file) == 0 ? 0 : 2;
}

/*
 * Prints the mechanism's own message, if it has one: it names principals and
 * caches.
 */
static void spnego_explain(OM_uint32 major, OM_uint32 minor)
{
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    OM_uint32 ignored, more = 0;

    if (minor != 0) {
        gss_display_status(&ignored, minor, GSS_C_MECH_CODE, &spnego_krb5,
                           &more, &text);
    } else {
        gss_display_status(&ignored, major, GSS_C_GSS_CODE, GSS_C_NO_OID,
                           &more, &text);
    }
    fprintf(stderr, "%.*s\n", (int)text.length, (const char *)text.value);
    gss_release_buffer(&ignored, &text);
}

/* Without this check SPNEGO would only report that it has nothing to offer. */
static OM_uint32 spnego_check_credentials(OM_uint32 *minor)
{
    gss_OID_set_desc mechanisms = {1, &spnego_krb5};
    gss_cred_id_t credentials = GSS_C_NO_CREDENTIAL;
    OM_uint32 major, ignored;

    major =
        gss_acquire_cred(minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechanisms,
                         GSS_C_INITIATE, &credentials, NULL, NULL);
    gss_release_cred(&ignored, &credentials);
    return major;
}

/* Makes the first token, which is the only one that Kerberos needs. */
static OM_uint32 spnego_token(OM_uint32 *minor, gss_name_t name,
                              gss_buffer_t token)
{
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    OM_uint32 major, ignored;

    major = gss_init_sec_context(
        minor, GSS_C_NO_CREDENTIAL, &context, name, &spnego_spnego, 0, 0,
        GSS_C_NO_CHANNEL_BINDINGS, GSS_C_NO_BUFFER, NULL, token, NULL, NULL);
    gss_delete_sec_context(&ignored, &context, GSS_C_NO_BUFFER);
    return major;
}

int spnego_main(int argc, char **argv)
{
    gss_buffer_desc text, token = GSS_C_EMPTY_BUFFER;
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 major, minor, ignored;
    int rc = 1;

    if (argc != 3 || strncmp(argv[2], "HTTP@", 5) != 0) {
        fputs("symcached: --spnego is for symcached itself\n", stderr);
        return 2;
    }

    text.value = argv[2];
    text.length = strlen(argv[2]);
    major = spnego_check_credentials(&minor);
    if (!GSS_ERROR(major)) {
        major =
            gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &name);
    }
    if (!GSS_ERROR(major)) {
        major = spnego_token(&minor, name, &token);
    }

    if (GSS_ERROR(major)) {
        spnego_explain(major, minor);
    } else {
        rc = spnego_write(&token);
    }
    gss_release_buffer(&ignored, &token);
    gss_release_name(&ignored, &name);
    return rc;
}
