/*
 * A program that prints AG-UI events itself, one JSON object a line: one
 * private header for the harness's files.
 *
 * Its events are checked, not trusted.  What can be set right is: ids used
 * twice are numbered, what was not begun is begun, what was not ended is
 * ended.  What cannot is shown as RAW, so that nothing is lost.
 */

#ifndef SBX_AGUI_H_INCLUDED
#define SBX_AGUI_H_INCLUDED

#include "sbx_translator.h"
#include "sbx_idset.h"


/* Ids that are remembered of a run, per kind: beyond that the oldest is let go. */
#define SBX_AGUI_IDS_MAX  4096

/* What events begin, continue and end, in the order in which the end of the run ends them. */
typedef enum {
    SBX_AGUI_TEXT = 0,
    SBX_AGUI_THOUGHT,           /* REASONING_MESSAGE_* */
    SBX_AGUI_SPAN,              /* REASONING_START, REASONING_END */
    SBX_AGUI_CALL,
    SBX_AGUI_STEP,
    SBX_AGUI_SUBAGENT,
    SBX_AGUI_KINDS
} sbx_agui_kind_e;

typedef enum {
    SBX_AGUI_START,
    SBX_AGUI_CONTENT,
    SBX_AGUI_END,
    SBX_AGUI_CHUNK,             /* begins and ends by itself */
    SBX_AGUI_RESULT,
    SBX_AGUI_ENCRYPTED,
    SBX_AGUI_ALONE,             /* has nothing to do with the others */
    SBX_AGUI_RETOLD,            /* what messages there are by now */
    SBX_AGUI_TERMINAL,
    SBX_AGUI_RUN_STARTED
} sbx_agui_act_e;

typedef struct {
    const char  *key;
    bool       (*check)(const sbx_json_t *v);
    bool         required;
} sbx_agui_member_t;

#define SBX_AGUI_MEMBERS  6

typedef struct {
    sbx_str_t           type;
    sbx_agui_act_e      act;
    sbx_agui_kind_e     kind;
    sbx_agui_member_t   members[SBX_AGUI_MEMBERS];
} sbx_agui_event_t;

/* In the first count of an id; the second tells how often it was used. */
#define SBX_AGUI_OPEN        1
#define SBX_AGUI_UNANSWERED  2

typedef struct {
    sbx_idset_t       ids[SBX_AGUI_KINDS];
    sbx_arena_t      *result_arena;
    sbx_json_t       *result;           /* the terminal event that came last */
    sbx_buf_t         chunked;          /* id of what a *_CHUNK event began */
    sbx_agui_kind_e   chunked_kind;
    bool              has_chunked;
    bool              retold;           /* a snapshot of messages may have said whose they are */
} sbx_agui_t;

typedef struct {
    sbx_str_t    start;
    sbx_str_t    content;
    sbx_str_t    end;
    const char  *key;
} sbx_agui_words_t;

extern const sbx_harness_t     sbx_harness_agui;
extern const sbx_agui_words_t  sbx_agui_words[SBX_AGUI_KINDS];


/* sbx_agui_event.c; NULL: no event type that agents may print */
const sbx_agui_event_t *sbx_agui_event(sbx_str_t type);
/*
 * The event in wire form with sound members only.  SBX_DECLINED: one that it
 * must have is missing or wrong.
 */
sbx_rc_e sbx_agui_check(sbx_arena_t *arena, const sbx_agui_event_t *event, const sbx_json_t *line, sbx_json_t **chunk);

/* sbx_agui_value.c: members that are more than a string */
bool sbx_agui_is_string(const sbx_json_t *v);
bool sbx_agui_is_object(const sbx_json_t *v);
bool sbx_agui_is_content(const sbx_json_t *v);          /* a string, or parts */
bool sbx_agui_is_patch(const sbx_json_t *v);
bool sbx_agui_is_messages(const sbx_json_t *v);
bool sbx_agui_is_outcome(const sbx_json_t *v);
bool sbx_agui_is_subagent_outcome(const sbx_json_t *v);
bool sbx_agui_is_usage(const sbx_json_t *v);

/*
 * sbx_agui_order.c.  SBX_DECLINED: the event has no place here, and nothing
 * was emitted for it.
 */
sbx_rc_e sbx_agui_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk);
sbx_rc_e sbx_agui_continue(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind,
    sbx_json_t *chunk);
sbx_rc_e sbx_agui_finish(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk);
/* Begins what an event of another type continues; `more` NULL: that tells nothing of it. */
sbx_rc_e sbx_agui_begin(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_str_t id,
    const sbx_json_t *more);
/* The entry of id, new or old. */
sbx_rc_e sbx_agui_remember(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_str_t id,
    sbx_idset_entry_t **entry);
sbx_rc_e sbx_agui_number(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_idset_entry_t *entry);
/* NULL: nothing that goes by this id is open. */
sbx_idset_entry_t *sbx_agui_open(sbx_agui_t *agui, sbx_agui_kind_e kind, sbx_str_t id);
sbx_rc_e sbx_agui_close(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind,
    sbx_idset_entry_t *entry);
sbx_rc_e sbx_agui_close_all(sbx_translator_t *t, sbx_arena_t *scratch);
/* A failed run leaves no call without a result; of a finished one such calls are the client's to answer. */
sbx_rc_e sbx_agui_answer_all(sbx_translator_t *t, sbx_arena_t *scratch);
/* A member that names something else: by the id by which viewers know it, if it is known. */
sbx_rc_e sbx_agui_refer(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk,
    const char *key);
/* Sets the member to the id by which viewers know the entry. */
sbx_rc_e sbx_agui_name(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_idset_entry_t *entry,
    sbx_json_t *chunk, const char *key);


#endif /* SBX_AGUI_H_INCLUDED */
