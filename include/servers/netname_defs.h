/* What the calls of <servers/netname.h> return. */
#ifndef SERVERS_NETNAME_DEFS_H
#define SERVERS_NETNAME_DEFS_H

#define NETNAME_SUCCESS 0
#define NETNAME_PENDING (-1)
#define NETNAME_NOT_YOURS 1000      /* the name was checked in with another signature */
#define NETNAME_NOT_CHECKED_IN 1001 /* nobody checked the name in */
#define NETNAME_NO_SUCH_HOST 1002   /* the host is not this one */
#define NETNAME_HOST_NOT_FOUND 1003
#define NETNAME_INVALID_PORT 1004 /* the port is no send right */

#define NAME_NOT_YOURS NETNAME_NOT_YOURS
#define NAME_NOT_CHECKED_IN NETNAME_NOT_CHECKED_IN

/* A name, with its NUL. */
typedef char netname_name_t[80];

#endif
