/* User routines of the subsystem sampler, made by mig. Do not edit: change the .defs file. */

#ifndef _mig_sampler_user_h_
#define _mig_sampler_user_h_

#include <mach/kern_return.h>
#include <mach/port.h>
#include <mach/message.h>
#include <mach/mig_errors.h>
#include <mach/std_types.h>
#include "sampler_types.h"

/* Identifiers of requests begin with this one; those of replies are 100 higher. */
#define sampler_base_id 7000
#define sampler_routine_count 26
/* The largest request and reply, in bytes: what the buffers of a server must hold. */
#define sampler_max_request_size 32968
#define sampler_max_reply_size 16608

#ifdef __cplusplus
extern "C" {
#endif

/* sampler.defs:56 (message 7000):
 *   routine null(server: mach_port_t); */
extern kern_return_t f_null(
	mach_port_t server);

/* sampler.defs:59 (message 7001):
 *   routine four(server: mach_port_t; a: int; b: int; c: int; d: int; out w: int; out x: int; out y:
 *       int; out z: int); */
extern kern_return_t f_four(
	mach_port_t server,
	int a,
	int b,
	int c,
	int d,
	int *w,
	int *x,
	int *y,
	int *z);

/* sampler.defs:64 (message 7002):
 *   routine sizes(requestport server: mach_port_t; inout a: char; inout b: short; inout c: int64; inout
 *       d: boolean_t; inout e: double); */
extern kern_return_t f_sizes(
	mach_port_t server,
	char *a,
	short *b,
	int64_t *c,
	boolean_t *d,
	double *e);

/* sampler.defs:74 (message 7004):
 *   routine strings(server: mach_port_t; word: word_t; label: label_t; old: old_string_t; out word_out:
 *       word_t; out label_out: label_t; out old_out: old_string_t; inout both: word_t); */
extern kern_return_t f_strings(
	mach_port_t server,
	const char *word,
	const char *label,
	const char *old,
	word_t word_out,
	label_t label_out,
	old_string_t old_out,
	word_t both);

/* sampler.defs:84 (message 7005):
 *   routine structures(server: mach_port_t; pair: short_pair_t; out pair_out: short_pair_t; inout
 *       record: record_t; list: record_array_t; out list_out: record_array_t); */
extern kern_return_t f_structures(
	mach_port_t server,
	short_pair_t pair,
	short_pair_t *pair_out,
	record_t *record,
	const record_t *list,
	mach_msg_type_number_t listCnt,
	record_array_t list_out,
	mach_msg_type_number_t *list_outCnt);

/* sampler.defs:93 (message 7006):
 *   routine arrays(server: mach_port_t; four: four_ints_t; bytes: bytes_t; add: int; more: ints_t; out
 *       four_out: four_ints_t; out bytes_out: bytes_t; out sum: int64; inout both: ints_t; out last:
 *       int); */
extern kern_return_t f_arrays(
	mach_port_t server,
	const int *four,
	const char *bytes,
	mach_msg_type_number_t bytesCnt,
	int add,
	const int *more,
	mach_msg_type_number_t moreCnt,
	four_ints_t four_out,
	bytes_t bytes_out,
	mach_msg_type_number_t *bytes_outCnt,
	int64_t *sum,
	ints_t both,
	mach_msg_type_number_t *bothCnt,
	int *last);

/* sampler.defs:106 (message 7007):
 *   routine room(server: mach_port_t; out list: ints_t, countinout; out told: natural_t); */
extern kern_return_t f_room(
	mach_port_t server,
	ints_t list,
	mach_msg_type_number_t *listCnt,
	natural_t *told);

/* sampler.defs:112 (message 7008):
 *   routine unlimited(server: mach_port_t; list: any_ints_t; copied: any_ints_t, servercopy; given:
 *       any_ints_t, dealloc[]; out where: natural_t; out list_out: any_ints_t, dealloc; count:
 *       natural_t); */
extern kern_return_t f_unlimited(
	mach_port_t server,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	any_ints_t copied,
	mach_msg_type_number_t copiedCnt,
	any_ints_t given,
	mach_msg_type_number_t givenCnt,
	boolean_t givenDealloc,
	natural_t *where,
	any_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt,
	natural_t count);

/* sampler.defs:121 (message 7009):
 *   routine out_of_line(server: mach_port_t; list: far_ints_t; given: far_ints_t, dealloc; block:
 *       far_block_t; out sum: int64; out list_out: far_ints_t, dealloc); */
extern kern_return_t f_out_of_line(
	mach_port_t server,
	far_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t given,
	mach_msg_type_number_t givenCnt,
	far_block_t block,
	int64_t *sum,
	far_ints_t *list_out,
	mach_msg_type_number_t *list_outCnt);

/* sampler.defs:130 (message 7010):
 *   routine ports(server: mach_port_t; copy: mach_port_t; made: mach_port_make_send_t; out copy_out:
 *       mach_port_t = MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; out made_out: mach_port_t =
 *       MACH_MSG_TYPE_MOVE_SEND ctype: mach_port_t; any: mach_port_poly_t; out any_out:
 *       mach_port_poly_t); */
extern kern_return_t f_ports(
	mach_port_t server,
	mach_port_t copy,
	mach_port_t made,
	mach_port_t *copy_out,
	mach_port_t *made_out,
	mach_port_t any,
	mach_msg_type_name_t anyPoly,
	mach_port_t *any_out,
	mach_msg_type_name_t *any_outPoly);

/* sampler.defs:139 (message 7011):
 *   routine port_arrays(server: mach_port_t; three: three_ports_t; some: some_ports_t; out some_out:
 *       some_ports_t = array[*:8] of mach_port_move_send_t; far: far_ports_t; out far_out: far_ports_t
 *       = ^array[] of mach_port_move_send_t, dealloc; either: any_ports_t; out either_out: any_ports_t
 *       = array[] of mach_port_move_send_t, dealloc); */
extern kern_return_t f_port_arrays(
	mach_port_t server,
	const mach_port_t *three,
	const mach_port_t *some,
	mach_msg_type_number_t someCnt,
	some_ports_t some_out,
	mach_msg_type_number_t *some_outCnt,
	far_ports_t far,
	mach_msg_type_number_t farCnt,
	far_ports_t *far_out,
	mach_msg_type_number_t *far_outCnt,
	any_ports_t either,
	mach_msg_type_number_t eitherCnt,
	any_ports_t *either_out,
	mach_msg_type_number_t *either_outCnt);

/* sampler.defs:150 (message 7012):
 *   routine accounts(server: mach_port_t; account: account_t; inout other: account_t; out third:
 *       account_t); */
extern kern_return_t f_accounts(
	mach_port_t server,
	account_number_t account,
	account_number_t *other,
	account_number_t *third);

/* sampler.defs:157 (message 7013):
 *   routine sequence(server: mach_port_t; msgseqno seqno: mach_port_seqno_t; out seqno_out:
 *       mach_port_seqno_t); */
extern kern_return_t f_sequence(
	mach_port_t server,
	mach_port_seqno_t *seqno_out);

/* sampler.defs:163 (message 7014):
 *   simpleroutine tell(server: mach_port_t; word: word_t); */
extern kern_return_t f_tell(
	mach_port_t server,
	const char *word);

/* sampler.defs:167 (message 7015):
 *   routine told(server: mach_port_t; out word: word_t); */
extern kern_return_t f_told(
	mach_port_t server,
	word_t word);

/* sampler.defs:172 (message 7016):
 *   routine later(server: mach_port_t; sreplyport reply: mach_port_move_send_once_t; waittime time:
 *       natural_t; value: int; out doubled: int); */
extern kern_return_t f_later(
	mach_port_t server,
	natural_t time,
	int value,
	int *doubled);

/* sampler.defs:179 (message 7017):
 *   simpleroutine release(server: mach_port_t); */
extern kern_return_t f_release(
	mach_port_t server);

/* sampler.defs:183 (message 7018):
 *   routine refuse(server: mach_port_t; code: int; right: mach_port_make_send_t; list: any_ints_t; far:
 *       far_ints_t; ports: some_ports_t; out nothing: int); */
extern kern_return_t f_refuse(
	mach_port_t server,
	int code,
	mach_port_t right,
	any_ints_t list,
	mach_msg_type_number_t listCnt,
	far_ints_t far,
	mach_msg_type_number_t farCnt,
	const mach_port_t *ports,
	mach_msg_type_number_t portsCnt,
	int *nothing);

/* sampler.defs:193 (message 7019):
 *   routine both_ways(server: mach_port_t; inout list: any_ints_t, dealloc; how: natural_t; right:
 *       mach_port_make_send_t; out words: bytes_t); */
extern kern_return_t f_both_ways(
	mach_port_t server,
	any_ints_t *list,
	mach_msg_type_number_t *listCnt,
	natural_t how,
	mach_port_t right,
	bytes_t words,
	mach_msg_type_number_t *wordsCnt);

/* sampler.defs:203 (message 7020):
 *   routine timed(server: mach_port_t; msgoption option: int; value: int; out same: int); */
extern kern_return_t f_timed(
	mach_port_t server,
	int option,
	int value,
	int *same);

/* sampler.defs:213 (message 7021):
 *   routine numbers(server: mach_port_t; inout real: float; inout tiny: int8_t; inout byte: uint8_t;
 *       inout half: uint16_t; inout word: unsigned; inout wide: uint64_t; flags: flags_t; out
 *       flags_out: flags_t; inout big: big_t); */
extern kern_return_t f_numbers(
	mach_port_t server,
	float *real,
	int8_t *tiny,
	uint8_t *byte,
	uint16_t *half,
	unsigned *word,
	uint64_t *wide,
	const boolean_t *flags,
	mach_msg_type_number_t flagsCnt,
	flags_t flags_out,
	mach_msg_type_number_t *flags_outCnt,
	big_t big);

/* sampler.defs:226 (message 7022):
 *   routine moves(server: mach_port_t; send: mach_port_move_send_t; once: mach_port_move_send_once_t;
 *       made: mach_port_make_send_once_t; receive: mach_port_move_receive_t; out send_out:
 *       mach_port_move_send_t; out once_out: mach_port_move_send_once_t; out receive_out:
 *       mach_port_move_receive_t; inout both: mach_port_move_send_t; said: mach_port_send_t; out
 *       said_out: mach_port_send_t; passed: passed_t; watched: watched_t; out watches: boolean_t); */
extern kern_return_t f_moves(
	mach_port_t server,
	mach_port_t send,
	mach_port_t once,
	mach_port_t made,
	mach_port_t receive,
	mach_port_t *send_out,
	mach_port_t *once_out,
	mach_port_t *receive_out,
	mach_port_t *both,
	mach_port_t said,
	mach_msg_type_name_t saidPoly,
	mach_port_t *said_out,
	mach_port_t passed,
	mach_port_t watched,
	boolean_t *watches);

/* sampler.defs:243 (message 7023):
 *   routine far_things(server: mach_port_t; record: far_record_t; list: far_records_t; any:
 *       any_records_t; three: far_three_ports_t; out record_out: far_record_t, dealloc; out list_out:
 *       far_records_t, dealloc; out any_out: any_records_t, dealloc; out there: natural_t); */
extern kern_return_t f_far_things(
	mach_port_t server,
	far_record_t record,
	far_records_t list,
	mach_msg_type_number_t listCnt,
	any_records_t any,
	mach_msg_type_number_t anyCnt,
	far_three_ports_t three,
	far_record_t *record_out,
	far_records_t *list_out,
	mach_msg_type_number_t *list_outCnt,
	any_records_t *any_out,
	mach_msg_type_number_t *any_outCnt,
	natural_t *there);

/* sampler.defs:255 (message 7024):
 *   routine reply_to(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; value: int; out
 *       same: int); */
extern kern_return_t f_reply_to(
	mach_port_t server,
	mach_port_t port,
	int value,
	int *same);

/* sampler.defs:262 (message 7025):
 *   simpleroutine ask(server: mach_port_t; ureplyport port: mach_port_make_send_once_t; code: int); */
extern kern_return_t f_ask(
	mach_port_t server,
	mach_port_t port,
	int code);

#ifdef __cplusplus
}
#endif

#endif
