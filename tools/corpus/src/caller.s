# DWARF of a unit with a function whose name is in origin.s.

    .text
code: .byte 0, 0

    .section .debug_abbrev
abbreviations:
    .uleb128 1, 0x11 # DW_TAG_compile_unit
    .byte 1
    .uleb128 0x11, 1, 0x12, 7, 0, 0 # DW_AT_low_pc, DW_AT_high_pc
    .uleb128 2, 0x2e # DW_TAG_subprogram
    .byte 0
    .uleb128 0x11, 1, 0x12, 7, 0x31, 0x10, 0, 0 # DW_AT_abstract_origin
    .uleb128 0

    .section .debug_info
    .4byte end - begin
begin:
    .2byte 4
    .4byte abbreviations
    .byte 8
    .uleb128 1
    .8byte code, 2
    .uleb128 2
    .8byte code, 2
    .4byte origin
    .uleb128 0
end:

    .section .note.GNU-stack
