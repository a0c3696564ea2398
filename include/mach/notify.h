/* Notifications: messages that tell of the end of rights. Each comes to a send-once right, once. */
#ifndef MACH_NOTIFY_H
#define MACH_NOTIFY_H

#include <mach/message.h>
#include <mach/port.h>

/* Their msgh_id, and the variant to ask mach_port_request_notification() for. */
#define MACH_NOTIFY_FIRST 64
#define MACH_NOTIFY_PORT_DELETED (MACH_NOTIFY_FIRST + 1)   /* a name with a dead-name request went */
#define MACH_NOTIFY_MSG_ACCEPTED (MACH_NOTIFY_FIRST + 2)   /* a port with a MACH_SEND_NOTIFY has room */
#define MACH_NOTIFY_PORT_DESTROYED (MACH_NOTIFY_FIRST + 5) /* a receive right was destroyed: here it is */
#define MACH_NOTIFY_NO_SENDERS (MACH_NOTIFY_FIRST + 6)     /* the port's last send right is gone */
#define MACH_NOTIFY_SEND_ONCE (MACH_NOTIFY_FIRST + 7)      /* a send-once right went without being used */
#define MACH_NOTIFY_DEAD_NAME (MACH_NOTIFY_FIRST + 8)      /* the port died: the name is a dead name */
#define MACH_NOTIFY_LAST (MACH_NOTIFY_FIRST + 13)

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_type_t not_type; /* MACH_MSG_TYPE_PORT_NAME */
    mach_port_t not_port;
} mach_port_deleted_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_type_t not_type; /* MACH_MSG_TYPE_PORT_NAME */
    mach_port_t not_port;
} mach_msg_accepted_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_type_t not_type; /* MACH_MSG_TYPE_PORT_RECEIVE */
    mach_port_t not_port;     /* the receive right, now the receiver's */
} mach_port_destroyed_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_type_t not_type; /* MACH_MSG_TYPE_INTEGER_32 */
    unsigned int not_count;   /* the port's make-send count then */
} mach_no_senders_notification_t;

typedef struct {
    mach_msg_header_t not_header;
} mach_send_once_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_type_t not_type; /* MACH_MSG_TYPE_PORT_NAME */
    mach_port_t not_port;     /* the notification gives this dead name one user reference more */
} mach_dead_name_notification_t;

MACH_LAYOUT(sizeof(mach_port_deleted_notification_t) == 48, "a notification has 48 bytes");
MACH_LAYOUT(sizeof(mach_msg_accepted_notification_t) == 48, "a notification has 48 bytes");
MACH_LAYOUT(sizeof(mach_port_destroyed_notification_t) == 48, "a notification has 48 bytes");
MACH_LAYOUT(sizeof(mach_no_senders_notification_t) == 48, "a notification has 48 bytes");
MACH_LAYOUT(sizeof(mach_send_once_notification_t) == 32, "a send-once notification has 32 bytes");
MACH_LAYOUT(sizeof(mach_dead_name_notification_t) == 48, "a notification has 48 bytes");

#endif
