/* User routines of the subsystem traps, made by mig. Do not edit: change the .defs file. */

#ifndef _mig_traps_user_h_
#define _mig_traps_user_h_

#include <mach/kern_return.h>
#include <mach/port.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/std_types.h>
#include "trap_types.h"

/* Identifiers of requests begin with this one; those of replies are 100 higher. */
#define traps_base_id 8000
#define traps_routine_count 16
/* The largest request and reply, in bytes: what the buffers of a server must hold. */
#define traps_max_request_size 80056
#define traps_max_reply_size 80056

#ifdef __cplusplus
extern "C" {
#endif

/* trap.defs:28 (message 8000):
 *   routine nothing(server: mach_port_t); */
extern kern_return_t t_nothing(
	mach_port_t server);

/* trap.defs:31 (message 8001):
 *   routine numbers(server: mach_port_t; a: char; b: short; c: int; d: int64; e: double; out f: int;
 *       out g: double; inout h: int64; code: int); */
extern kern_return_t t_numbers(
	mach_port_t server,
	char a,
	short b,
	int c,
	int64_t d,
	double e,
	int *f,
	double *g,
	int64_t *h,
	int code);

/* trap.defs:39 (message 8002):
 *   routine behind(number: int; server: mach_port_t; out doubled: int); */
extern kern_return_t t_behind(
	int number,
	mach_port_t server,
	int *doubled);

/* trap.defs:44 (message 8003):
 *   routine records(server: mach_port_t; one: record_t; out two: record_t; inout three: record_t; list:
 *       records_t; out list_out: records_t; code: int); */
extern kern_return_t t_records(
	mach_port_t server,
	record_t one,
	record_t *two,
	record_t *three,
	const record_t *list,
	mach_msg_type_number_t listCnt,
	records_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code);

/* trap.defs:54 (message 8004):
 *   routine scribble(server: mach_port_t; three: three_t; list: ints_t; word: word_t; label: label_t;
 *       one: record_t); */
extern kern_return_t t_scribble(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	record_t one);

/* trap.defs:63 (message 8005):
 *   routine lent(server: mach_port_t; three: three_t, const; list: ints_t, const; word: word_t, const;
 *       label: label_t, const; address: int64; out same: int); */
extern kern_return_t t_lent(
	mach_port_t server,
	const short *three,
	const int *list,
	mach_msg_type_number_t listCnt,
	const char *word,
	const char *label,
	int64_t address,
	int *same);

/* trap.defs:72 (message 8006):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; out word_out: word_t; out
 *       label_out: label_t; inout word_both: word_t; inout label_both: label_t; code: int); */
extern kern_return_t t_strings(
	mach_port_t server,
	const char *word,
	const char *label,
	word_t word_out,
	label_t label_out,
	word_t word_both,
	label_t label_both,
	int code);

/* trap.defs:83 (message 8007):
 *   routine arrays(server: mach_port_t; list: ints_t; claim: int; out three: three_t; out list_out:
 *       ints_t; inout list_both: ints_t; code: int); */
extern kern_return_t t_arrays(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	int claim,
	three_t three,
	ints_t list_out,
	mach_msg_type_number_t *list_outCnt,
	ints_t list_both,
	mach_msg_type_number_t *list_bothCnt,
	int code);

/* trap.defs:92 (message 8008):
 *   routine room(server: mach_port_t; claim: int; out list: ints_t, countinout; out told: int); */
extern kern_return_t t_room(
	mach_port_t server,
	int claim,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	int *told);

/* trap.defs:98 (message 8009):
 *   routine pairs(server: mach_port_t; keys: ints_t; values: ints_t, samecount; out keys_out: ints_t;
 *       out values_out: ints_t, samecount; code: int); */
extern kern_return_t t_pairs(
	mach_port_t server,
	const int *keys,
	mach_msg_type_number_t keysCnt,
	const int *values,
	ints_t keys_out,
	mach_msg_type_number_t *keys_outCnt,
	ints_t values_out,
	int code);

/* trap.defs:107 (message 8010):
 *   routine many(server: mach_port_t; list: many_t; out list_out: many_t; code: int); */
extern kern_return_t t_many(
	mach_port_t server,
	const int *list,
	mach_msg_type_number_t listCnt,
	many_t list_out,
	mach_msg_type_number_t *list_outCnt,
	int code);

/* trap.defs:113 (message 8011):
 *   routine moneys(server: mach_port_t; one: money_t; inout two: money_t; out three: money_t; code:
 *       int); */
extern kern_return_t t_moneys(
	mach_port_t server,
	int one,
	int *two,
	int *three,
	int code);

/* trap.defs:121 (message 8012):
 *   routine object(server: object_t; out number: int); */
extern kern_return_t t_object(
	mach_port_t server,
	int *number);

/* trap.defs:126 (message 8013):
 *   simpleroutine tell(server: mach_port_t; number: int); */
extern kern_return_t t_tell(
	mach_port_t server,
	int number);

/* trap.defs:128 (message 8014):
 *   routine told(server: mach_port_t; out number: int); */
extern kern_return_t t_told(
	mach_port_t server,
	int *number);

/* trap.defs:130 (message 8015):
 *   routine right(server: mach_port_t; right: mach_port_make_send_t; out number: int); */
extern kern_return_t t_right(
	mach_port_t server,
	mach_port_t right,
	int *number);

#ifdef __cplusplus
}
#endif

#endif
