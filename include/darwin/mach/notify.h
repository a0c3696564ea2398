/* Notifications: messages that tell of the end of rights. Each comes to a send-once right, once. */
#ifndef MACH_NOTIFY_H
#define MACH_NOTIFY_H

#include <mach/message.h>
#include <mach/ndr.h>
#include <mach/port.h>

/* Their msgh_id, and the variant to ask mach_port_request_notification() for. */
#define MACH_NOTIFY_FIRST 0100
#define MACH_NOTIFY_PORT_DELETED (MACH_NOTIFY_FIRST + 01)   /* a name with a dead-name request went */
#define MACH_NOTIFY_PORT_DESTROYED (MACH_NOTIFY_FIRST + 05) /* a receive right was destroyed: here it is */
#define MACH_NOTIFY_NO_SENDERS (MACH_NOTIFY_FIRST + 06)     /* the port's last send right is gone */
#define MACH_NOTIFY_SEND_ONCE (MACH_NOTIFY_FIRST + 07)      /* a send-once right went without being used */
#define MACH_NOTIFY_DEAD_NAME (MACH_NOTIFY_FIRST + 010)     /* the port died: the name is a dead name */
#define MACH_NOTIFY_LAST (MACH_NOTIFY_FIRST + 015)

#pragma pack(push, 4)

typedef struct {
    mach_msg_header_t not_header;
    NDR_record_t NDR;
    mach_port_name_t not_port;
    mach_msg_format_0_trailer_t trailer;
} mach_port_deleted_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_body_t not_body;
    mach_msg_port_descriptor_t not_port; /* the receive right, now the receiver's */
    mach_msg_format_0_trailer_t trailer;
} mach_port_destroyed_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    NDR_record_t NDR;
    mach_msg_type_number_t not_count; /* the port's make-send count then */
    mach_msg_format_0_trailer_t trailer;
} mach_no_senders_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    mach_msg_format_0_trailer_t trailer;
} mach_send_once_notification_t;

typedef struct {
    mach_msg_header_t not_header;
    NDR_record_t NDR;
    mach_port_name_t not_port; /* the notification gives this dead name one user reference more */
    mach_msg_format_0_trailer_t trailer;
} mach_dead_name_notification_t;

#pragma pack(pop)

MACH_LAYOUT(sizeof(mach_dead_name_notification_t) == 56, "a notification has 56 bytes with its trailer");

#endif
