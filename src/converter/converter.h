/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the converter.
 */
#ifndef CONVERTER_H
#define CONVERTER_H

#include "conversion.h"
#include "output_file.h"
#include "symbfile_output.h"

#endif
