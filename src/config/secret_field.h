/*
 * Copyright (C) the ngx_symcache authors
 *
 * Texts of the configuration that may be secrets: passwords, tokens, header
 * values.
 */
#pragma once

#include "base/secret.h"
#include "field.h"

/*
 * A config_read_fn for a char *, which secret_free() frees.  The text is
 * expanded, see secret_expand(): without its secret a source would answer 401
 * for everything, so it is an error if there is none.
 */
config_read_fn field_secret;

/*
 * The same for a private key in PEM, which may have several lines, or "\n" in
 * place of line ends.  In the file of a service account of Google, which is
 * JSON, it is the member "private_key".
 */
config_read_fn field_private_key;

/* Returns the account of such a key, to be freed; NULL if the text does not
 * say so. */
char *field_private_key_account(const cJSON *item);

/* The same for a secret that is sent as a Bearer token. */
config_read_fn field_token;
