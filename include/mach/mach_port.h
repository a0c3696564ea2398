/*
 * Operations on the names and rights of a task. All return KERN_SUCCESS, or a code that says why nothing
 * was done: KERN_INVALID_TASK, the first argument is not mach_task_self(); KERN_INVALID_NAME, the name denotes
 * nothing; KERN_INVALID_RIGHT, it denotes another kind of right; KERN_INVALID_VALUE, an argument is out of
 * range; KERN_RESOURCE_SHORTAGE. Further codes are given with the routine.
 */
#ifndef MACH_MACH_PORT_H
#define MACH_MACH_PORT_H

#include <mach/mach_types.h>
#include <mach/message.h>
#include <mach/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All names and their types, in no particular order. Both arrays are the caller's, to be given to vm_deallocate(). */
extern kern_return_t mach_port_names(ipc_space_t task, mach_port_name_array_t *names,
                                     mach_msg_type_number_t *names_count, mach_port_type_array_t *types,
                                     mach_msg_type_number_t *types_count);

/* The rights that a name denotes, MACH_PORT_TYPE_*. */
extern kern_return_t mach_port_type(ipc_space_t task, mach_port_name_t name, mach_port_type_t *port_type);

/* Gives rights another name. KERN_NAME_EXISTS: it is in use. */
extern kern_return_t mach_port_rename(ipc_space_t task, mach_port_name_t old_name, mach_port_name_t new_name);

/*
 * A new port (MACH_PORT_RIGHT_RECEIVE), port set or dead name, under a given or a new name.
 * KERN_NAME_EXISTS: the given name is in use. KERN_NO_SPACE: no name is left.
 */
extern kern_return_t mach_port_allocate_name(ipc_space_t task, mach_port_right_t right, mach_port_name_t name);
extern kern_return_t mach_port_allocate(ipc_space_t task, mach_port_right_t right, mach_port_name_t *name);

/* Destroys all rights of a name, and with a receive right or set the port or the set. */
extern kern_return_t mach_port_destroy(ipc_space_t task, mach_port_name_t name);

/* Gives up one user reference of a send right, send-once right or dead name. */
extern kern_return_t mach_port_deallocate(ipc_space_t task, mach_port_name_t name);

/* The user references of one right of a name; 0 when the name has no such right. */
extern kern_return_t mach_port_get_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                        mach_port_urefs_t *refs);

/*
 * Changes them; the right goes with the last one. A send right whose port died meanwhile is treated as the
 * dead name that it is. KERN_INVALID_VALUE: fewer than none would be left, or more than one of a right that has
 * only one. KERN_UREFS_OVERFLOW: above MACH_PORT_UREFS_MAX.
 */
extern kern_return_t mach_port_mod_refs(ipc_space_t task, mach_port_name_t name, mach_port_right_t right,
                                        mach_port_delta_t delta);

/* Messages that a port's queue holds before senders wait, at most MACH_PORT_QLIMIT_MAX. */
extern kern_return_t mach_port_set_qlimit(ipc_space_t task, mach_port_name_t name, mach_port_msgcount_t qlimit);

extern kern_return_t mach_port_set_mscount(ipc_space_t task, mach_port_name_t name, mach_port_mscount_t mscount);
extern kern_return_t mach_port_set_seqno(ipc_space_t task, mach_port_name_t name, mach_port_seqno_t seqno);

/* The members of a port set. The array is the caller's, to be given to vm_deallocate(). */
extern kern_return_t mach_port_get_set_status(ipc_space_t task, mach_port_name_t name,
                                              mach_port_name_array_t *members,
                                              mach_msg_type_number_t *members_count);

/*
 * Moves a receive right into the set named after, out of the one that it is in; MACH_PORT_NULL: into none.
 * KERN_NOT_IN_SET: it was in none.
 */
extern kern_return_t mach_port_move_member(ipc_space_t task, mach_port_name_t member, mach_port_name_t after);

/*
 * Asks for a notification (MACH_NOTIFY_PORT_DESTROYED, _NO_SENDERS or _DEAD_NAME), to be sent to the given
 * send-once right. MACH_PORT_NULL cancels. *previous is the send-once right of the request before,
 * or MACH_PORT_NULL. The notification comes at once when there are no senders and the make-send
 * count has reached sync, or, if sync is not 0, when the name is dead already.
 * KERN_INVALID_ARGUMENT: the name is dead and sync is 0. KERN_INVALID_CAPABILITY: notify is no such right.
 * KERN_UREFS_OVERFLOW.
 */
extern kern_return_t mach_port_request_notification(ipc_space_t task, mach_port_name_t name,
                                                    mach_msg_id_t variant, mach_port_mscount_t sync,
                                                    mach_port_t notify, mach_msg_type_name_t notify_type,
                                                    mach_port_t *previous);

/*
 * Puts a right, passed as in a message, under a name. KERN_NAME_EXISTS: the name denotes something else.
 * KERN_RIGHT_EXISTS: the task has the right under another name. KERN_INVALID_CAPABILITY: the right is null or dead.
 * KERN_UREFS_OVERFLOW.
 */
extern kern_return_t mach_port_insert_right(ipc_space_t task, mach_port_name_t name, mach_port_t right,
                                            mach_msg_type_name_t right_type);

/* Takes a right out of the task as a message would, and gives it to the caller. */
extern kern_return_t mach_port_extract_right(ipc_space_t task, mach_port_name_t name, mach_msg_type_name_t desired,
                                             mach_port_t *right, mach_msg_type_name_t *acquired_type);

extern kern_return_t mach_port_get_receive_status(ipc_space_t task, mach_port_name_t name,
                                                  mach_port_status_t *status);

/*
 * The payload is in msgh_protected_payload of the messages that come to the port, with the local type
 * MACH_MSG_TYPE_PROTECTED_PAYLOAD, in place of the port's name.
 */
extern kern_return_t mach_port_set_protected_payload(ipc_space_t task, mach_port_name_t name,
                                                     rpc_uintptr_t payload);
extern kern_return_t mach_port_clear_protected_payload(ipc_space_t task, mach_port_name_t name);

#ifdef __cplusplus
}
#endif

#endif
