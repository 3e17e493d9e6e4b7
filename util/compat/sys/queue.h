/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lists of <sys/queue.h>, for C libraries that have no such header: those operations that this
 * tree uses, with the names and the meaning of BSD's queue(3).
 *
 *   SLIST    one pointer an entry, a stack
 *   STAILQ   the same and a tail
 *   LIST     an entry knows the pointer that points to it, and so can leave
 *   TAILQ    both
 */
#ifndef COMPAT_SYS_QUEUE_H
#define COMPAT_SYS_QUEUE_H

#include <stddef.h>

/* --- singly linked --- */

#define SLIST_HEAD(name, type)    \
	struct name {             \
		struct type *top; \
	}
#define SLIST_ENTRY(type)           \
	struct {                    \
		struct type *below; \
	}
#define SLIST_FIRST(head)	((head)->top)
#define SLIST_NEXT(entry, link) ((entry)->link.below)
#define SLIST_INIT(head)	(SLIST_FIRST(head) = NULL)
#define SLIST_EMPTY(head)	(!SLIST_FIRST(head))
#define SLIST_INSERT_HEAD(head, entry, link)                 \
	do {                                                 \
		SLIST_NEXT(entry, link) = SLIST_FIRST(head); \
		SLIST_FIRST(head) = (entry);                 \
	} while (0)
#define SLIST_REMOVE_HEAD(head, link) (SLIST_FIRST(head) = SLIST_NEXT(SLIST_FIRST(head), link))

#define SLIST_FOREACH(entry, head, link) \
	for ((entry) = SLIST_FIRST(head); (entry); (entry) = SLIST_NEXT(entry, link))

#define STAILQ_HEAD(name, type)      \
	struct name {                \
		struct type *first;  \
		struct type **after; \
	}
#define STAILQ_HEAD_INITIALIZER(head) \
	{                             \
		NULL, &(head).first   \
	}
#define STAILQ_ENTRY(type)         \
	struct {                   \
		struct type *next; \
	}
#define STAILQ_INIT(head)                       \
	do {                                    \
		(head)->first = NULL;           \
		(head)->after = &(head)->first; \
	} while (0)
#define STAILQ_FIRST(head)	 ((head)->first)
#define STAILQ_NEXT(entry, link) ((entry)->link.next)
#define STAILQ_EMPTY(head)	 (!STAILQ_FIRST(head))
#define STAILQ_INSERT_TAIL(head, entry, link)              \
	do {                                               \
		STAILQ_NEXT(entry, link) = NULL;           \
		*(head)->after = (entry);                  \
		(head)->after = &STAILQ_NEXT(entry, link); \
	} while (0)
#define STAILQ_INSERT_HEAD(head, entry, link)                      \
	do {                                                       \
		STAILQ_NEXT(entry, link) = STAILQ_FIRST(head);     \
		if (STAILQ_EMPTY(head))                            \
			(head)->after = &STAILQ_NEXT(entry, link); \
		STAILQ_FIRST(head) = (entry);                      \
	} while (0)
#define STAILQ_REMOVE_HEAD(head, link)                                      \
	do {                                                                \
		STAILQ_FIRST(head) = STAILQ_NEXT(STAILQ_FIRST(head), link); \
		if (STAILQ_EMPTY(head))                                     \
			(head)->after = &(head)->first;                     \
	} while (0)
#define STAILQ_FOREACH(entry, head, link) \
	for ((entry) = STAILQ_FIRST(head); (entry); (entry) = STAILQ_NEXT(entry, link))

/* --- doubly linked --- */

#define LIST_HEAD(name, type)       \
	struct name {               \
		struct type *first; \
	}
#define LIST_HEAD_INITIALIZER(head) \
	{                           \
		NULL                \
	}
#define LIST_ENTRY(type)                                         \
	struct {                                                 \
		struct type *next;                               \
		struct type **here; /* the link to this entry */ \
	}
#define LIST_INIT(head)	       ((void)((head)->first = NULL))
#define LIST_FIRST(head)       ((head)->first)
#define LIST_NEXT(entry, link) ((entry)->link.next)
#define LIST_EMPTY(head)       (!LIST_FIRST(head))
#define LIST_INSERT_AT_(place, entry, link)                                          \
	do {                                                                         \
		LIST_NEXT(entry, link) = *(place);                                   \
		if (LIST_NEXT(entry, link))                                          \
			LIST_NEXT(entry, link)->link.here = &LIST_NEXT(entry, link); \
		(entry)->link.here = (place);                                        \
		*(place) = (entry);                                                  \
	} while (0)
#define LIST_INSERT_HEAD(head, entry, link)   LIST_INSERT_AT_(&LIST_FIRST(head), entry, link)
#define LIST_INSERT_AFTER(other, entry, link) LIST_INSERT_AT_(&LIST_NEXT(other, link), entry, link)
#define LIST_REMOVE(entry, link)                                                \
	do {                                                                    \
		if (LIST_NEXT(entry, link))                                     \
			LIST_NEXT(entry, link)->link.here = (entry)->link.here; \
		*(entry)->link.here = LIST_NEXT(entry, link);                   \
	} while (0)
#define LIST_FOREACH(entry, head, link) \
	for ((entry) = LIST_FIRST(head); (entry); (entry) = LIST_NEXT(entry, link))

#define TAILQ_HEAD(name, type)       \
	struct name {                \
		struct type *first;  \
		struct type **after; \
	}
#define TAILQ_HEAD_INITIALIZER(head) \
	{                            \
		NULL, &(head).first  \
	}
#define TAILQ_ENTRY(type)                                        \
	struct {                                                 \
		struct type *next;                               \
		struct type **here; /* the link to this entry */ \
	}
#define TAILQ_INIT(head)                        \
	do {                                    \
		(head)->first = NULL;           \
		(head)->after = &(head)->first; \
	} while (0)
#define TAILQ_FIRST(head)	((head)->first)
#define TAILQ_NEXT(entry, link) ((entry)->link.next)
#define TAILQ_EMPTY(head)	(!TAILQ_FIRST(head))
/* The head and the link of an entry have the same two members, so the last link leads to the one
 * before it. */
#define TAILQ_LAST(head, headname)	  (*((struct headname *)(head)->after)->after)
#define TAILQ_PREV(entry, headname, link) (*((struct headname *)(entry)->link.here)->after)
#define TAILQ_INSERT_HEAD(head, entry, link)                                     \
	do {                                                                     \
		TAILQ_NEXT(entry, link) = TAILQ_FIRST(head);                     \
		if (TAILQ_EMPTY(head))                                           \
			(head)->after = &TAILQ_NEXT(entry, link);                \
		else                                                             \
			TAILQ_FIRST(head)->link.here = &TAILQ_NEXT(entry, link); \
		TAILQ_FIRST(head) = (entry);                                     \
		(entry)->link.here = &TAILQ_FIRST(head);                         \
	} while (0)
#define TAILQ_INSERT_TAIL(head, entry, link)              \
	do {                                              \
		TAILQ_NEXT(entry, link) = NULL;           \
		(entry)->link.here = (head)->after;       \
		*(head)->after = (entry);                 \
		(head)->after = &TAILQ_NEXT(entry, link); \
	} while (0)
#define TAILQ_INSERT_BEFORE(place, entry, link)                \
	do {                                                   \
		(entry)->link.here = (place)->link.here;       \
		TAILQ_NEXT(entry, link) = (place);             \
		*(place)->link.here = (entry);                 \
		(place)->link.here = &TAILQ_NEXT(entry, link); \
	} while (0)
#define TAILQ_REMOVE(head, entry, link)                                          \
	do {                                                                     \
		if (TAILQ_NEXT(entry, link))                                     \
			TAILQ_NEXT(entry, link)->link.here = (entry)->link.here; \
		else                                                             \
			(head)->after = (entry)->link.here;                      \
		*(entry)->link.here = TAILQ_NEXT(entry, link);                   \
	} while (0)
/* Append the entries of @from to those of @to. */
#define TAILQ_CONCAT(to, from, link)                        \
	do {                                                \
		if (TAILQ_EMPTY(from))                      \
			break;                              \
		*(to)->after = TAILQ_FIRST(from);           \
		TAILQ_FIRST(from)->link.here = (to)->after; \
		(to)->after = (from)->after;                \
		TAILQ_INIT(from);                           \
	} while (0)
#define TAILQ_FOREACH(entry, head, link) \
	for ((entry) = TAILQ_FIRST(head); (entry); (entry) = TAILQ_NEXT(entry, link))

#endif
