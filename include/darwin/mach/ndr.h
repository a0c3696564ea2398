/* How the data of a message that stubs made is to be read: here always as this machine has it. */
#ifndef MACH_NDR_H
#define MACH_NDR_H

typedef struct {
    unsigned char mig_vers;
    unsigned char if_vers;
    unsigned char reserved1;
    unsigned char mig_encoding;
    unsigned char int_rep;
    unsigned char char_rep;
    unsigned char float_rep;
    unsigned char reserved2;
} NDR_record_t;

#define NDR_PROTOCOL_2_0 0
#define NDR_INT_BIG_ENDIAN 0
#define NDR_INT_LITTLE_ENDIAN 1
#define NDR_CHAR_ASCII 0
#define NDR_FLOAT_IEEE 0

#ifdef __cplusplus
extern "C" {
#endif

/* This machine's. */
extern NDR_record_t NDR_record;

#ifdef __cplusplus
}
#endif

#endif
