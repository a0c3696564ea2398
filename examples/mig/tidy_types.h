/* The C types of tidy.defs. */
#ifndef TIDY_TYPES_H
#define TIDY_TYPES_H

typedef int *numbers_t;
typedef int *far_numbers_t;

#endif
