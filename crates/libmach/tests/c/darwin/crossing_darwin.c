/* The half with Darwin's dialect: it starts the other. */
#include "crossing.h"
#include "darwin.h"

#include <sys/wait.h>
#include <unistd.h>

static char memory[LENGTH];

int main(int count, char **arguments) {
    watchdog(60);
    mach_port_t port = make_port(), bp = MACH_PORT_NULL;
    MUST(count == 2);
    MUST(CHECK_CODE(bootstrap_register(bp, SERVICE, port), S));
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        execv(arguments[1], arguments + 1);
        _exit(127);
    }
    /* Its hello has a right to its port. */
    carried_t got;
    memset(&got, 0, sizeof got);
    CHECK_CODE(mach_msg(&got.it.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof got, port, PATIENCE, 0), S);
    MUST(got.it.header.msgh_id == PLAIN && got.it.header.msgh_size == 24 + 16);
    mach_port_t other = got.it.header.msgh_remote_port;
    CHECK(MACH_MSGH_BITS_REMOTE(got.it.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND);
    /* The typed dialect's plain data is its type and its bytes, as they are. */
    const unsigned *words = (const unsigned *) &got.it.body;
    CHECK(words[0] == (2u | 32u << 8 | 1u << 29) && words[1] == 1 && words[2] == 4711);

    CHECK_CODE(send(other, port, PLAIN, "twelve bytes", 12), S);
    message_t answer;
    CHECK_CODE(receive(port, &answer), S);
    CHECK(answer.header.msgh_id == PLAIN + 100 && MACH_MSGH_BITS_LOCAL(answer.header.msgh_bits) == MACH_MSG_TYPE_PORT_SEND_ONCE);

    mach_port_t right = make_port(), names[2] = {right, port};
    memset(memory, 'm', sizeof memory);
    carrying_t it;
    carry(&it, other, right, memory, sizeof memory, names);
    it.header.msgh_id = CARRYING;
    CHECK_CODE(mach_msg(&it.header, MACH_SEND_MSG, sizeof it, 0, 0, 0, 0), S);
    /* The same comes back: in the typed dialect the integers stand in front. */
    memset(&got, 0, sizeof got);
    CHECK_CODE(mach_msg(&got.it.header, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, sizeof got, port, PATIENCE, 0), S);
    CHECK(got.it.header.msgh_id == CARRYING);
    check_carried(&got.it, right, memory, sizeof memory);
    mach_msg_destroy(&got.it.header);

    /* A notification from there. */
    CHECK_CODE(send(other, MACH_PORT_NULL, GUARD, NULL, 0), S);
    CHECK_CODE(receive(port, &answer), S);
    CHECK(answer.header.msgh_id == MACH_NOTIFY_NO_SENDERS && answer.header.msgh_size == 36 && answer.no_senders.not_count == 1);
    CHECK_CODE(send(other, MACH_PORT_NULL, LAST, NULL, 0), S);
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return checks_done("crossing, Darwin");
}
