/* Memory: the vm_ routines on the calling task, and out-of-line data. */
#include "fixtures.h"

#include <mach/vm_param.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define S KERN_SUCCESS
#define COPY MACH_MSG_TYPE_COPY_SEND

/* Pages without access, at both sides of which nothing is mapped for certain only while this holds them. */
static vm_address_t unmapped(vm_size_t size) {
    vm_address_t address = 0;
    MUST(vm_allocate(self, &address, size, TRUE) == S);
    MUST(vm_deallocate(self, address, size) == S);
    return address;
}

/* Whether reading the byte ends a process. */
static int is_mapped(vm_address_t address) {
    unsigned char resident;
    return mincore((void *) (address & ~(vm_page_size - 1)), 1, &resident) == 0;
}

static void test_allocate(void) {
    const vm_size_t page = vm_page_size;
    vm_address_t address = 0, same;
    CHECK_CODE(vm_allocate(self, &address, 3 * page, TRUE), S);
    CHECK(address % page == 0 && address != 0);
    unsigned sum = 0;
    for (vm_size_t i = 0; i < 3 * page; i++) sum |= ((unsigned char *) address)[i];
    CHECK(sum == 0);
    memset((void *) address, 1, 3 * page);
    /* Not where there is something; not at no address. */
    same = address + page;
    CHECK_CODE(vm_allocate(self, &same, page, FALSE), KERN_NO_SPACE);
    CHECK(((unsigned char *) address)[page] == 1);
    /* Where there is nothing. */
    CHECK_CODE(vm_deallocate(self, address + page, page), S);
    CHECK(is_mapped(address) && !is_mapped(address + page) && is_mapped(address + 2 * page));
    same = address + page;
    CHECK_CODE(vm_allocate(self, &same, page, FALSE), S);
    CHECK(same == address + page && ((unsigned char *) same)[0] == 0);
    CHECK_CODE(vm_deallocate(self, address, 3 * page), S);
    CHECK(!is_mapped(address));
    /* Sizes are rounded up to pages, and nothing is nothing. */
    address = 0;
    CHECK_CODE(vm_allocate(self, &address, page + 1, TRUE), S);
    ((char *) address)[2 * page - 1] = 1;
    CHECK_CODE(vm_deallocate(self, address, page + 1), S);
    CHECK(!is_mapped(address + page));
    address = 12345;
    CHECK_CODE(vm_allocate(self, &address, 0, TRUE), S);
    CHECK(address == 0);
    CHECK_CODE(vm_deallocate(self, 0, 0), S);
    CHECK_CODE(vm_allocate(self, &address, ~(vm_size_t) 0 - page, TRUE), KERN_NO_SPACE);
}

static void test_read_write(void) {
    const vm_size_t page = vm_page_size;
    vm_address_t from = 0, to = 0, gone = unmapped(4 * page);
    vm_offset_t data = 0;
    mach_msg_type_number_t count = 0;
    CHECK_CODE(vm_allocate(self, &from, 2 * page, TRUE), S);
    CHECK_CODE(vm_allocate(self, &to, 2 * page, TRUE), S);
    strcpy((char *) from, "some text");
    CHECK_CODE(vm_read(self, from, 2 * page, &data, &count), S);
    CHECK(count == 2 * page && data != from && strcmp((char *) data, "some text") == 0);
    strcpy((char *) from, "another");
    CHECK(strcmp((char *) data, "some text") == 0);
    CHECK_CODE(vm_write(self, to, data, count), S);
    CHECK(strcmp((char *) to, "some text") == 0);
    CHECK_CODE(vm_deallocate(self, data, count), S);
    CHECK_CODE(vm_copy(self, from, 2 * page, to), S);
    CHECK(strcmp((char *) to, "another") == 0);

    gone = unmapped(4 * page);
    CHECK_CODE(vm_read(self, gone, page, &data, &count), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_write(self, gone, from, (mach_msg_type_number_t) page), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_copy(self, gone, page, to), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_copy(self, from, page, gone), KERN_INVALID_ADDRESS);
    CHECK_CODE(vm_protect(self, gone, page, FALSE, VM_PROT_READ), KERN_INVALID_ADDRESS);

    CHECK_CODE(vm_protect(self, to, page, FALSE, VM_PROT_READ), S);
    CHECK_CODE(vm_write(self, to, from, (mach_msg_type_number_t) page), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_copy(self, from, page, to), KERN_PROTECTION_FAILURE);
    CHECK(strcmp((char *) to, "another") == 0);
    CHECK_CODE(vm_protect(self, from, page, FALSE, VM_PROT_NONE), S);
    CHECK_CODE(vm_read(self, from, page, &data, &count), KERN_PROTECTION_FAILURE);
    CHECK_CODE(vm_protect(self, from, page, FALSE, VM_PROT_DEFAULT), S);
    CHECK(strcmp((char *) from, "another") == 0);
    CHECK_CODE(vm_protect(self, from, page, FALSE, 0x40), KERN_INVALID_ARGUMENT);
    CHECK_CODE(vm_deallocate(self, from, 2 * page), S);
    CHECK_CODE(vm_deallocate(self, to, 2 * page), S);
}

static void test_map(void) {
    const vm_size_t page = vm_page_size;
    vm_address_t address = 0;
    CHECK_CODE(vm_map(self, &address, page, 0, TRUE, MACH_PORT_NULL, 0, FALSE, VM_PROT_DEFAULT, VM_PROT_ALL, VM_INHERIT_DEFAULT),
               S);
    ((char *) address)[0] = 1;
    vm_address_t taken = address;
    CHECK_CODE(vm_map(self, &taken, page, 0, FALSE, MACH_PORT_NULL, 0, FALSE, VM_PROT_DEFAULT, VM_PROT_ALL, VM_INHERIT_DEFAULT),
               KERN_NO_SPACE);
    CHECK_CODE(vm_deallocate(self, address, page), S);
    /* No bit of the mask is in the address. */
    const vm_address_t mask = 16 * page - 1;
    address = 0;
    CHECK_CODE(vm_map(self, &address, page, mask, TRUE, MACH_PORT_NULL, 0, FALSE, VM_PROT_READ, VM_PROT_READ, VM_INHERIT_NONE), S);
    CHECK((address & mask) == 0);
    CHECK_CODE(vm_deallocate(self, address, page), S);
}

/* ---- Out-of-line data ---- */

struct region_message {
    mach_msg_header_t header;
    mach_msg_type_t type;
    void *address;
};

static mach_msg_return_t send_region(mach_port_t to, void *address, unsigned bytes, int deallocate) {
    struct region_message message;
    memset(&message, 0, sizeof message);
    message.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    message.header.msgh_remote_port = to;
    message.type = region_type(bytes);
    message.type.msgt_deallocate = deallocate ? 1 : 0;
    message.address = address;
    return mach_msg(&message.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof message, 0, 0, 0, 0);
}

static void fill(unsigned char *data, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++) data[i] = (unsigned char) (i * 7 + i / 251 + seed);
}

static int filled(const unsigned char *data, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++)
        if (data[i] != (unsigned char) (i * 7 + i / 251 + seed)) return 0;
    return 1;
}

/* The receiver has the bytes as they were at the send, in memory of its own that can be written. */
static void test_regions(void) {
    static const unsigned sizes[] = {1, 7, 8, 100, 4095, 4096, 4097, 65536, 100001, 1 << 20, (8 << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int deallocate = 0; deallocate < 2; deallocate++) {
            const unsigned size = sizes[i];
            mach_port_t to = make_port();
            any_message message;
            vm_address_t memory = 0;
            CHECK_CODE(vm_allocate(self, &memory, size + 100, TRUE), S);
            /* Data that begins anywhere may be copied; whole pages may be given away. */
            unsigned char *data = (unsigned char *) memory + (deallocate ? 0 : 33);
            fill(data, size, size);
            CHECK_CODE(send_region(to, data, size, deallocate), MACH_MSG_SUCCESS);
            if (deallocate) CHECK(!is_mapped(memory));
            else memset(data, 0, size);
            if (CHECK_CODE(receive(to, &message), MACH_MSG_SUCCESS)) {
                unsigned char *got = message.region.address;
                const mach_msg_type_t *type = &message.region.type;
                CHECK(message.header.msgh_bits & MACH_MSGH_BITS_COMPLEX);
                CHECK(type->msgt_number == size && type->msgt_size == 8 && type->msgt_name == MACH_MSG_TYPE_BYTE);
                CHECK(!type->msgt_inline && type->msgt_deallocate);
                CHECK(filled(got, size, size));
                memset(got, 1, size);
                CHECK_CODE(vm_deallocate(self, (vm_address_t) got, size), S);
                CHECK(!is_mapped((vm_address_t) got));
            }
            if (!deallocate) CHECK_CODE(vm_deallocate(self, memory, size + 100), S);
            sweep();
        }
    }
}

static void test_odd_regions(void) {
    mach_port_t to = make_port();
    any_message message;
    /* Nothing, from anywhere. */
    CHECK_CODE(send_region(to, (void *) 12345, 0, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(receive(to, &message), MACH_MSG_SUCCESS);
    CHECK(message.region.type.msgt_number == 0 && !message.region.type.msgt_inline);
    /* Memory that is not there, all or the last page. */
    vm_address_t memory = unmapped(4 * vm_page_size);
    CHECK_CODE(send_region(to, (void *) memory, 100, 0), MACH_SEND_INVALID_MEMORY);
    CHECK_CODE(send_region(to, NULL, 100, 0), MACH_SEND_INVALID_MEMORY);
    CHECK_CODE(send_region(to, (void *) ~(uintptr_t) 100, 1000, 0), MACH_SEND_INVALID_MEMORY);
    CHECK_CODE(vm_allocate(self, &memory, 2 * vm_page_size, TRUE), S);
    CHECK_CODE(vm_deallocate(self, memory + vm_page_size, vm_page_size), S);
    CHECK_CODE(send_region(to, (void *) memory, (unsigned) (2 * vm_page_size), 0), MACH_SEND_INVALID_MEMORY);
    CHECK_CODE(vm_protect(self, memory, vm_page_size, FALSE, VM_PROT_NONE), S);
    CHECK_CODE(send_region(to, (void *) memory, 100, 0), MACH_SEND_INVALID_MEMORY);
    CHECK_CODE(vm_deallocate(self, memory, vm_page_size), S);
    CHECK(!waits(to, NULL));
    /* Memory that may only be read is sent like any other. */
    static const char text[] = "written in the program";
    CHECK_CODE(send_region(to, (void *) (uintptr_t) text, sizeof text, 0), MACH_MSG_SUCCESS);
    CHECK_CODE(receive(to, &message), MACH_MSG_SUCCESS);
    CHECK(strcmp((char *) message.region.address, text) == 0);
    mach_msg_destroy(&message.header);
    /* A message that could not be sent is back, its memory too. */
    memory = 0;
    CHECK_CODE(vm_allocate(self, &memory, vm_page_size, TRUE), S);
    strcpy((char *) memory, "comes back");
    CHECK_CODE(mach_port_set_qlimit(self, to, 0), S);
    struct region_message region;
    memset(&region, 0, sizeof region);
    region.header.msgh_bits = MACH_MSGH_BITS(COPY, 0) | MACH_MSGH_BITS_COMPLEX;
    region.header.msgh_remote_port = to;
    region.type = region_type((unsigned) vm_page_size);
    region.type.msgt_deallocate = 1;
    region.address = (void *) memory;
    CHECK_CODE(mach_msg(&region.header, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof region, 0, 0, 0, 0), MACH_SEND_TIMED_OUT);
    CHECK(strcmp((char *) region.address, "comes back") == 0);
    mach_msg_destroy(&region.header);
    CHECK(refs_of(to, MACH_PORT_RIGHT_SEND) == 1);
    sweep();
}

void test_memory(void) {
    test_allocate();
    test_read_write();
    test_map();
    test_regions();
    test_odd_regions();
}
