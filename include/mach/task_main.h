/*
 * A task as a shared object: `slipway run` gives it a process of its own, or one that it shares with other tasks.
 *
 *     #include <mach/task_main.h>
 *
 *     MACH_TASK_MAIN(argc, argv) {
 *         ...
 *         return 0;
 *     }
 *
 * takes the place of main(). Build with -shared -fPIC and link with libmach. With MACH_TASK_EXECUTABLE defined the same
 * source makes an ordinary executable. The task ends when this function returns or a thread of the task calls exit():
 * its rights are given up, and nothing else in the process ends.
 */
#ifndef MACH_TASK_MAIN_H
#define MACH_TASK_MAIN_H

#include <stdint.h>

/* The version of what a task and the library that it is loaded beside expect of each other. */
#define MACH_TASK_ABI 1

#ifdef MACH_TASK_EXECUTABLE

#define MACH_TASK_MAIN(argc, argv) int main(int argc, char **argv)

#else

/* An ELF note, which is read before anything of the file runs. */
struct mach_task_note {
    uint32_t name_size, description_size, type;
    char name[8];
    uint32_t abi, pointer_size;
};

#ifdef __cplusplus
#define MACH_TASK_C extern "C"
#else
#define MACH_TASK_C extern
#endif

#define MACH_TASK_MAIN(argc, argv) \
    MACH_TASK_C __attribute__((visibility("default"))) int mach_task_main(int argc, char **argv); \
    __attribute__((used, section(".note.slipway.task"), aligned(4))) static const struct mach_task_note mach_task_note = { \
        8, 8, 1, {'S', 'l', 'i', 'p', 'w', 'a', 'y', 0}, MACH_TASK_ABI, sizeof(void *)}; \
    int mach_task_main(int argc, char **argv)

#endif

#endif
