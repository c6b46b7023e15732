/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a ProguardCache: what the frames of a program that was shrunk
 * were called.  It is a format of our own; the "proguard" library's has the
 * same structure, with an order of strings that differs from run to run, and
 * records that take more room.  All numbers are little-endian and have 32 bits;
 * FFFFFFFF is what is absent.
 *
 * After the header come, without anything between them:
 *
 *   classes: renamed and original name, file, first member, members, first
 *     place in the parameters, places; ascending by the bytes of the renamed
 *     name, each name once
 *   members, those of a class together, in its order, ascending by the renamed
 *     name, those of one name in the order of the mapping: renamed name, first
 *     and last line, class if the mapping has one, file, original name, first
 *     and last original line, arguments, number of an extra or 0, flags
 *   parameters: indices of members, those of a class together, ascending by
 *     renamed name and arguments, and then in the order of the mapping
 *   extras, from number 1 on: first pair, pairs, first rule, rules
 *   pairs: a position in an outline and the line of its caller, those of an
 *     extra ascending by position
 *   rules: the descriptor of an exception, and how many frames go
 *   strings: a length in LEB128 and that many bytes of UTF-8, each once
 *
 * Names, files, arguments and descriptors are offsets in the strings.
 */
#pragma once

#define PROGUARDCACHE_MAGIC "SPRG"
#define PROGUARDCACHE_VERSION 1
#define PROGUARDCACHE_HEADER 48

#define PROGUARDCACHE_AT_VERSION 4
#define PROGUARDCACHE_AT_COUNTS 8   /* of the parts, in their order */
#define PROGUARDCACHE_AT_RESERVED 36 /* 12 zeros */

/* The sizes of a part's records. */
#define PROGUARDCACHE_CLASS_SIZE 28
#define PROGUARDCACHE_MEMBER_SIZE 44
#define PROGUARDCACHE_PARAMETER_SIZE 4
#define PROGUARDCACHE_EXTRA_SIZE 16
#define PROGUARDCACHE_PAIR_SIZE 8
#define PROGUARDCACHE_RULE_SIZE 8

#define PROGUARDCACHE_NONE 0xFFFFFFFFu

/* Flags of a member. */
#define PROGUARDCACHE_SYNTHESIZED 1u
#define PROGUARDCACHE_OUTLINE 2u
#define PROGUARDCACHE_FLAGS 3u
