/* The program's entry, in front of the C library's. `slipway x11 -- PROGRAM` and `slipway sockets -- PROGRAM`, without options, variables or files that
 * say more, become their program here. The dynamic loader and the C library, before they run a program's first line, take ten times
 * as long as that: they ask the processor what it is, which traps in a virtual machine. Everything else is main's, and so is whatever is
 * out of the ordinary: main says what is wrong. For main, the dynamic loader is mapped here as the kernel does it for programs that
 * name one, which this one therefore doesn't (build.rs).
 *
 * Nothing here may use a C library or need relocation. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The entry leaves the stack as the kernel made it, for the loader. One that has run already, by name (ld.so slipway), gives a function to be called at the
 * end, where the kernel gives none: then the C library is all that is left to start. */
#if defined __x86_64__
#define MACHINE EM_X86_64
#define LOADER "/lib64/ld-linux-x86-64.so.2"
__asm__(".text\n.globl slipway_entry\n.hidden slipway_entry\n.type slipway_entry, @function\nslipway_entry:\n"
        "test %rdx, %rdx\njnz _start\n"
        "xor %ebp, %ebp\nmov %rsp, %rbx\nmov %rsp, %rdi\nand $-16, %rsp\ncall slipway_begin\nmov %rbx, %rsp\nxor %edx, %edx\njmp *%rax\n");
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}
#elif defined __aarch64__
#define MACHINE EM_AARCH64
#define LOADER "/lib/ld-linux-aarch64.so.1"
__asm__(".text\n.globl slipway_entry\n.hidden slipway_entry\n.type slipway_entry, %function\nslipway_entry:\n"
        "cbz x0, 1f\nb _start\n1:\n"
        "mov x29, #0\nmov x30, #0\nmov x19, sp\nmov x0, sp\nbl slipway_begin\nmov x16, x0\nmov x0, #0\nmov sp, x19\nbr x16\n");
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif
#define CALL(number, a, b, c, d) call(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static long open_file(const char *path) { return CALL(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0); }

/* What follows `start` in `text`, if it begins so. */
static const char *after(const char *text, const char *start)
{
    while (*start)
        if (*text++ != *start++)
            return NULL;
    return text;
}

static bool same(const char *one, const char *other)
{
    const char *rest = after(one, other);
    return rest && !*rest;
}

/* A path, or a variable with one. */
struct text {
    size_t length;
    bool overflows;
    char bytes[4096];
};

static void add(struct text *text, const char *more)
{
    for (; *more && !text->overflows; more++) {
        text->bytes[text->length++] = *more;
        text->overflows = text->length == sizeof text->bytes;
    }
    text->bytes[text->length - text->overflows] = 0;
}

static void add_number(struct text *text, unsigned long number)
{
    if (number > 9)
        add_number(text, number / 10);
    add(text, (char[]){(char)('0' + number % 10), 0});
}

static void cut(struct text *text, size_t length)
{
    text->bytes[text->length = length] = 0;
    text->overflows = false;
}

struct headers {
    Elf64_Ehdr file;
    Elf64_Phdr segments[32];
};

/* Reads the headers of an ELF file for this processor; false of another one. */
static bool read_headers(long fd, struct headers *into)
{
    Elf64_Ehdr *file = &into->file;
    const char magic[] = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 0};
    if (CALL(pread64, fd, file, sizeof *file, 0) != sizeof *file || !after((char *)file->e_ident, magic) || file->e_machine != MACHINE ||
        file->e_phentsize != sizeof *into->segments || file->e_phnum > sizeof into->segments / sizeof *into->segments)
        return false;
    long size = (long)file->e_phnum * file->e_phentsize;
    return CALL(pread64, fd, into->segments, size, file->e_phoff) == size;
}

/* Whether the hooks reach the program in this file: it has the loader that we have, and runs with its caller's rights. */
static bool is_hookable(long fd)
{
    struct headers headers;
    struct stat it;
    char loader[sizeof LOADER] = {0};
    if (CALL(fstat, fd, &it, 0, 0) != 0 || !S_ISREG(it.st_mode) || it.st_mode & (S_ISUID | S_ISGID) ||
        (CALL(getuid, 0, 0, 0, 0) != 0 && CALL(fgetxattr, fd, "security.capability", 0, 0) >= 0) || !read_headers(fd, &headers))
        return false;
    for (int number = 0; number < headers.file.e_phnum; number++) {
        Elf64_Phdr *segment = &headers.segments[number];
        if (segment->p_type == PT_INTERP && segment->p_filesz == sizeof loader)
            CALL(pread64, fd, loader, sizeof loader - 1, segment->p_offset);
    }
    return same(loader, LOADER);
}

/* Finds `name` in `path` as execvp(3) does; a name with a slash is a path. */
static bool find_program(const char *name, const char *path, struct text *found)
{
    cut(found, 0);
    for (const char *at = name; *at; at++)
        if (*at == '/') {
            add(found, name);
            return !found->overflows && CALL(faccessat, AT_FDCWD, name, X_OK, 0) == 0;
        }
    long result = -ENOENT;
    while (*name && *path && (result == -ENOENT || result == -ENOTDIR)) {
        cut(found, 0);
        for (; *path && *path != ':'; path++)
            add(found, (char[]){*path, 0});
        path += *path == ':';
        if (found->length == 0)
            return false;
        add(found, "/");
        add(found, name);
        result = found->overflows ? -ENAMETOOLONG : CALL(faccessat, AT_FDCWD, found->bytes, X_OK, 0);
    }
    return result == 0;
}

#ifndef SLIPWAY_CARRIES_PARTS
/* Where the last component's slash is; 0 if there is none. */
static size_t last_slash(const struct text *text, size_t end)
{
    while (end > 0 && text->bytes[--end] != '/')
        continue;
    return end;
}
#endif

/* Opens the preload library: the named one, or the one of this installation or build. */
static long open_library(const char *named)
{
    if (named)
        return open_file(named);
    long fd = -ENOENT;
#ifndef SLIPWAY_CARRIES_PARTS
    struct text own, path;
    long length = CALL(readlinkat, AT_FDCWD, "/proc/self/exe", own.bytes, sizeof own.bytes - 1);
    cut(&own, length > 0 ? (size_t)length : 0);
    cut(&own, last_slash(&own, own.length));
    size_t prefix = last_slash(&own, own.length);
    cut(&path, 0);
    for (size_t at = 0; at < prefix; at++)
        add(&path, (char[]){own.bytes[at], 0});
    add(&path, "/lib/slipway/libslipway_preload.so");
    fd = path.overflows ? -ENAMETOOLONG : open_file(path.bytes);
    if (fd == -ENOENT) {
        add(&own, "/libslipway_preload.so");
        fd = own.overflows ? -ENAMETOOLONG : open_file(own.bytes);
    }
#endif
    return fd;
}

/* Sets `variable` to LD_PRELOAD with the library's path, which has no links; false if it can't be used. */
static bool preload(const char *named, struct text *variable)
{
    struct headers headers;
    struct stat it;
    struct text link;
    long fd = open_library(named);
    if (fd < 0 || CALL(fstat, fd, &it, 0, 0) != 0 || !S_ISREG(it.st_mode) || !read_headers(fd, &headers))
        return false;
    cut(&link, 0);
    add(&link, "/proc/self/fd/");
    add_number(&link, (unsigned long)fd);
    cut(variable, 0);
    add(variable, "LD_PRELOAD=");
    size_t start = variable->length;
    long length = CALL(readlinkat, AT_FDCWD, link.bytes, variable->bytes + start, sizeof variable->bytes - start - 1);
    if (length <= 0 || (size_t)length >= sizeof variable->bytes - start - 1)
        return false;
    cut(variable, start + (size_t)length);
    for (const char *at = variable->bytes + start; *at; at++)
        if (*at == ' ' || *at == ':' || *at == '$' || *at == '\t' || *at == '\n')
            return false;
    return true;
}

/* Whether the user has a file that says which sockets. */
static bool has_choice(const char *configuration, const char *home)
{
    struct text path;
    bool is_set = configuration && *configuration;
    if (!is_set && !(home && *home))
        return false;
    cut(&path, 0);
    add(&path, is_set ? configuration : home);
    add(&path, is_set ? "/slipway/sockets.toml" : "/.config/slipway/sockets.toml");
    return path.overflows || CALL(faccessat, AT_FDCWD, path.bytes, F_OK, 0) != -ENOENT;
}

/* Becomes the program, if that is all that is asked. */
static void launch(long count, char **words, char **variables)
{
    if (count < 4 || !same(words[2], "--"))
        return;
    bool for_sockets = same(words[1], "sockets");
    if (!for_sockets && !same(words[1], "x11"))
        return;
    const char *path = "/bin:/usr/bin", *home = NULL, *configuration = NULL, *library = NULL, *value;
    size_t have = 0;
    while (variables[have])
        have++;
    /* Of several of one name the first counts. */
    for (size_t at = have; at-- > 0;) {
        const char *one = variables[at];
        if ((value = after(one, "PATH=")))
            path = value;
        else if ((value = after(one, "HOME=")))
            home = value;
        else if ((value = after(one, "XDG_CONFIG_HOME=")))
            configuration = value;
        else if ((value = after(one, "SLIPWAY_PRELOAD=")))
            library = *value ? value : NULL;
        else if (after(one, "LD_PRELOAD=") || after(one, "ASAN_OPTIONS=") ||
                 /* Where programs meet, and marks of tests, are nothing to this one. */
                 (after(one, "SLIPWAY_") && !after(one, "SLIPWAY_RUNTIME_DIR=") && !after(one, "SLIPWAY_TEST_")))
            return;
    }
    struct text program, preloaded;
    if ((for_sockets && has_choice(configuration, home)) || !find_program(words[3], path, &program))
        return;
    long fd = open_file(program.bytes);
    if (fd < 0 || !is_hookable(fd) || !preload(library, &preloaded))
        return;
    /* A hardened system insists on MFD_NOEXEC_SEAL, an old one does not know it. */
    const int close_on_exec = 1, allow_sealing = 2, no_exec_seal = 8;
    if (CALL(memfd_create, "slipway", close_on_exec | allow_sealing | no_exec_seal, 0, 0) < 0 &&
        CALL(memfd_create, "slipway", close_on_exec | allow_sealing, 0, 0) < 0)
        return;
    const char *environment[have + 4];
    size_t at = 0;
    for (; at < have; at++)
        environment[at] = variables[at];
    environment[at++] = preloaded.bytes;
    environment[at++] = "ASAN_OPTIONS=verify_asan_link_order=0";
    if (for_sockets)
        environment[at++] = "SLIPWAY_SOCKETS=all";
    environment[at] = NULL;
    CALL(execve, program.bytes, words + 3, environment, 0);
}

/* The C library's entry, and where this file begins in memory. */
extern __attribute__((visibility("hidden"))) void _start(void);
extern __attribute__((visibility("hidden"))) const char __ehdr_start[];

static Elf64_auxv_t *entry(Elf64_auxv_t *vector, unsigned long type)
{
    while (vector->a_type != type && vector->a_type != AT_NULL)
        vector++;
    return vector;
}

/* Maps a segment of the loader. */
static bool map(long fd, const Elf64_Phdr *segment, uintptr_t base, uintptr_t page)
{
    int protection = (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) | (segment->p_flags & PF_X ? PROT_EXEC : 0);
    uintptr_t before = segment->p_vaddr % page, start = base + segment->p_vaddr - before;
    uintptr_t file_end = base + segment->p_vaddr + segment->p_filesz, end = base + segment->p_vaddr + segment->p_memsz;
    uintptr_t rest = (file_end + page - 1) / page * page;
    if (call(SYS_mmap, (long)start, (long)(file_end - start), protection, MAP_PRIVATE | MAP_FIXED, fd, (long)(segment->p_offset - before)) != (long)start)
        return false;
    if (end > file_end)
        for (volatile char *byte = (char *)file_end; byte < (char *)rest; byte++)
            *byte = 0;
    return end <= rest ||
           call(SYS_mmap, (long)rest, (long)(end - rest), protection, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == (long)rest;
}

/* Loads the dynamic loader and tells it of the program: where it is to go, or 0. */
static uintptr_t load(Elf64_auxv_t *vector)
{
    static Elf64_Phdr own[32];
    static const char loader[] = LOADER;
    struct headers headers;
    uintptr_t page = entry(vector, AT_PAGESZ)->a_un.a_val, end = 0;
    long fd = open_file(loader);
    if (fd < 0 || page == 0 || !read_headers(fd, &headers))
        return 0;
    for (int number = 0; number < headers.file.e_phnum; number++)
        if (headers.segments[number].p_type == PT_LOAD)
            end = headers.segments[number].p_vaddr + headers.segments[number].p_memsz;
    long base = call(SYS_mmap, 0, (long)end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base < 0 && base > -4096)
        return 0;
    for (int number = 0; number < headers.file.e_phnum; number++)
        if (headers.segments[number].p_type == PT_LOAD && !map(fd, &headers.segments[number], (uintptr_t)base, page))
            return 0;
    CALL(close, fd, 0, 0, 0);
    /* It finds the program, and its own name, by entries that linkers make only for programs that name a loader. */
    Elf64_auxv_t *at = entry(vector, AT_PHDR), *count = entry(vector, AT_PHNUM);
    const Elf64_Phdr *linked = (const Elf64_Phdr *)at->a_un.a_val;
    uintptr_t origin = (uintptr_t)__ehdr_start, have = 2;
    if (count->a_un.a_val > sizeof own / sizeof *own - have)
        return 0;
    own[0] = (Elf64_Phdr){.p_type = PT_PHDR, .p_flags = PF_R, .p_vaddr = (uintptr_t)own - origin};
    own[1] = (Elf64_Phdr){.p_type = PT_INTERP, .p_flags = PF_R, .p_vaddr = (uintptr_t)loader - origin, .p_memsz = sizeof LOADER};
    for (uintptr_t number = 0; number < count->a_un.a_val; number++)
        if (linked[number].p_type != PT_PHDR)
            own[have++] = linked[number];
    at->a_un.a_val = (uintptr_t)own;
    count->a_un.a_val = have;
    entry(vector, AT_BASE)->a_un.a_val = (uintptr_t)base;
    entry(vector, AT_ENTRY)->a_un.a_val = (uintptr_t)_start;
    return (uintptr_t)base + headers.file.e_entry;
}

/* For slipway_entry: what the kernel left on the stack; where to go. */
__attribute__((visibility("hidden"), used)) uintptr_t slipway_begin(char **stack)
{
    long count = (long)stack[0];
    char **words = stack + 1, **variables = words + count + 1, **end = variables;
    while (*end)
        end++;
    Elf64_auxv_t *vector = (Elf64_auxv_t *)(end + 1);
    if (!entry(vector, AT_SECURE)->a_un.a_val)
        launch(count, words, variables);
    uintptr_t loader = load(vector);
    if (!loader) {
        static const char message[] = "slipway: " LOADER " can't be loaded\n";
        CALL(write, 2, message, sizeof message - 1, 0);
        for (;;)
            CALL(exit_group, 127, 0, 0, 0);
    }
    return loader;
}
