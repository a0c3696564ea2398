/*
 * Operations on the names and rights of a task. All return KERN_SUCCESS, or a code that says why nothing
 * was done: KERN_INVALID_TASK, the first argument is not mach_task_self(); KERN_INVALID_NAME, the name denotes
 * nothing; KERN_INVALID_RIGHT, it denotes another kind of right; KERN_INVALID_VALUE, an argument is out of
 * range; KERN_RESOURCE_SHORTAGE. Further codes are given with the routine.
 */
#ifndef MACH_MACH_PORT_H
#define MACH_MACH_PORT_H

#include <mach/dialect.h>
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
 * The same, or the limits, by flavor (MACH_PORT_LIMITS_INFO, _RECEIVE_STATUS): *count is the room in words, then what was
 * written. Only limits can be set. KERN_FAILURE: too few words. KERN_INVALID_ARGUMENT: another flavor.
 */
extern kern_return_t mach_port_get_attributes(ipc_space_t task, mach_port_name_t name, mach_port_flavor_t flavor,
                                              mach_port_info_t info, mach_msg_type_number_t *count);
extern kern_return_t mach_port_set_attributes(ipc_space_t task, mach_port_name_t name, mach_port_flavor_t flavor,
                                              mach_port_info_t info, mach_msg_type_number_t count);

/* A new port with all that the options say (MPO_*), or none. KERN_INVALID_ARGUMENT: a flag that is not known here. */
extern kern_return_t mach_port_construct(ipc_space_t task, mach_port_options_ptr_t options,
                                         mach_port_context_t context, mach_port_name_t *name);

/*
 * Ends a receive right, and adds srdelta, at most 0, to the user references of the send right with the same name.
 * KERN_INVALID_ARGUMENT: the receive right has another guard.
 */
extern kern_return_t mach_port_destruct(ipc_space_t task, mach_port_name_t name, mach_port_delta_t srdelta,
                                        mach_port_context_t guard);

/*
 * A guarded receive right is ended by mach_port_destruct() with its guard only: other calls give KERN_INVALID_RIGHT. A
 * message takes it away without the guard, or, if that is strict, not at all. KERN_INVALID_ARGUMENT: there is a guard or
 * a context already; or, to take it away, it is another, or there is none.
 */
extern kern_return_t mach_port_guard(ipc_space_t task, mach_port_name_t name, mach_port_context_t guard,
                                     boolean_t strict);
extern kern_return_t mach_port_unguard(ipc_space_t task, mach_port_name_t name, mach_port_context_t guard);

/* The context, 0 at first. One that is a guard is given as 0, and not set: KERN_INVALID_ARGUMENT. */
extern kern_return_t mach_port_get_context(ipc_space_t task, mach_port_name_t name, mach_port_context_t *context);
extern kern_return_t mach_port_set_context(ipc_space_t task, mach_port_name_t name, mach_port_context_t context);

/*
 * Looks at the message with the sequence number *seqno, or if that is 0 at the next one, and leaves it there. KERN_FAILURE:
 * no such message waits. There are no trailers: trailer_type is 0, else KERN_INVALID_VALUE, and *trailer_count becomes 0.
 */
extern kern_return_t mach_port_peek(ipc_space_t task, mach_port_name_t name, unsigned int trailer_type,
                                    mach_port_seqno_t *seqno, mach_msg_size_t *msg_size, mach_msg_id_t *msg_id,
                                    char *trailer_info, mach_msg_type_number_t *trailer_count);

/*
 * Puts a port into a set, and takes it out of that set. KERN_ALREADY_IN_SET, KERN_NOT_IN_SET. A port may be in several sets: a message is
 * received once, from any of them. mps_pset tells the one that it has been in longest. mach_port_move_member() takes it out of all.
 */
extern kern_return_t mach_port_insert_member(ipc_space_t task, mach_port_name_t name, mach_port_name_t pset);
extern kern_return_t mach_port_extract_member(ipc_space_t task, mach_port_name_t name, mach_port_name_t pset);

#ifndef MACH_DARWIN
/*
 * The payload is in msgh_protected_payload of the messages that come to the port, with the local type
 * MACH_MSG_TYPE_PROTECTED_PAYLOAD, in place of the port's name.
 */
extern kern_return_t mach_port_set_protected_payload(ipc_space_t task, mach_port_name_t name,
                                                     rpc_uintptr_t payload);
extern kern_return_t mach_port_clear_protected_payload(ipc_space_t task, mach_port_name_t name);
#endif

#ifdef __cplusplus
}
#endif

#endif
