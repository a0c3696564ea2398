/* Checks for test programs: one that fails says where and what, and the program goes on. */
#ifndef CHECK_H
#define CHECK_H

#include <stdatomic.h>
#include <stdio.h>

extern atomic_int checks_made, checks_failed;

/* A return code's name. */
const char *code_name(int code);

/* Ends the program when it makes no progress: a test that hangs fails. */
void watchdog(unsigned seconds);

/* Says how many checks there were; the exit status. */
int checks_done(const char *program);

/* Reports one check; returns whether it held. */
int check_at(const char *file, int line, int holds, const char *text);
int check_code_at(const char *file, int line, int code, int wanted, const char *text);

#define CHECK(condition) check_at(__FILE__, __LINE__, (condition) ? 1 : 0, #condition)
#define CHECK_CODE(expression, wanted) check_code_at(__FILE__, __LINE__, (int) (expression), (wanted), #expression)

/* For steps without which the rest makes no sense. */
#define MUST(condition) \
    do { \
        if (!CHECK(condition)) exit(checks_done("ended early")); \
    } while (0)

#endif
