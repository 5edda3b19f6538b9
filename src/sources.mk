# Sources of libsbx and of sandboxctl.  Read by the Makefile and by the nginx
# add-on's config.  No wildcards: what is not listed is not built.

SBX_DEPS = \
	src/base/sbx_base.h \
	src/base/sbx_json.h \
	src/base/sbx_text.h \
	src/chunk/sbx_align.h \
	src/chunk/sbx_arena_buf.h \
	src/chunk/sbx_chunk.h \
	src/chunk/sbx_chunk_append.h \
	src/chunk/sbx_chunk_keys.h \
	src/chunk/sbx_chunk_usage.h \
	src/chunk/sbx_offset.h \
	src/harness/sbx_agui.h \
	src/harness/sbx_assistant_json.h \
	src/harness/sbx_claude_code.h \
	src/harness/sbx_command.h \
	src/harness/sbx_harness.h \
	src/harness/sbx_idset.h \
	src/harness/sbx_prose_scan.h \
	src/harness/sbx_translator.h \
	src/journal/sbx_journal.h \
	src/journal/sbx_lines.h \
	src/journal/sbx_run_id.h \
	src/key/sbx_redis_key.h \
	src/key/sbx_sandbox_key.h \
	src/lease/sbx_lease_tally.h \
	src/record/sbx_header_id.h \
	src/record/sbx_prompt.h \
	src/record/sbx_record.h \
	src/record/sbx_resume.h \
	src/record/sbx_run_input.h \
	src/transcript/sbx_transcript.h

SBX_BASE_SRCS = \
	src/base/sbx_arena.c \
	src/base/sbx_base64.c \
	src/base/sbx_buf.c \
	src/base/sbx_json.c \
	src/base/sbx_json_check.c \
	src/base/sbx_json_number.c \
	src/base/sbx_json_object.c \
	src/base/sbx_json_parse.c \
	src/base/sbx_json_pool.c \
	src/base/sbx_json_print.c \
	src/base/sbx_sha256.c \
	src/base/sbx_text.c \
	src/base/sbx_utf8.c

SBX_KEY_SRCS = \
	src/key/sbx_fnv.c \
	src/key/sbx_redis_key.c \
	src/key/sbx_sandbox_key.c

SBX_LEASE_SRCS = \
	src/lease/sbx_lease_tally.c

SBX_JOURNAL_SRCS = \
	src/journal/sbx_frame.c \
	src/journal/sbx_journal_command.c \
	src/journal/sbx_journal_reader.c \
	src/journal/sbx_launch.c \
	src/journal/sbx_lines.c \
	src/journal/sbx_listing.c \
	src/journal/sbx_run_id.c \
	src/journal/sbx_sentinel.c

SBX_CHUNK_SRCS = \
	src/chunk/sbx_align.c \
	src/chunk/sbx_arena_buf.c \
	src/chunk/sbx_chunk.c \
	src/chunk/sbx_chunk_append.c \
	src/chunk/sbx_chunk_fingerprint.c \
	src/chunk/sbx_chunk_keys.c \
	src/chunk/sbx_chunk_usage.c \
	src/chunk/sbx_chunk_wire.c \
	src/chunk/sbx_offset.c \
	src/chunk/sbx_sse.c

SBX_RECORD_SRCS = \
	src/record/sbx_fields.c \
	src/record/sbx_header_id.c \
	src/record/sbx_prompt.c \
	src/record/sbx_record.c \
	src/record/sbx_resume.c \
	src/record/sbx_run_input.c \
	src/record/sbx_run_status.c

SBX_HARNESS_SRCS = \
	src/harness/sbx_agui.c \
	src/harness/sbx_agui_event.c \
	src/harness/sbx_agui_order.c \
	src/harness/sbx_agui_value.c \
	src/harness/sbx_assistant_json.c \
	src/harness/sbx_claude_code.c \
	src/harness/sbx_claude_code_abandon.c \
	src/harness/sbx_claude_code_block.c \
	src/harness/sbx_claude_code_delta.c \
	src/harness/sbx_claude_code_message.c \
	src/harness/sbx_claude_code_notice.c \
	src/harness/sbx_claude_code_result.c \
	src/harness/sbx_claude_code_stream.c \
	src/harness/sbx_claude_code_structured.c \
	src/harness/sbx_claude_code_tool.c \
	src/harness/sbx_command.c \
	src/harness/sbx_idset.c \
	src/harness/sbx_plain_text.c \
	src/harness/sbx_prose_scan.c \
	src/harness/sbx_translator.c \
	src/harness/sbx_translator_chunk.c \
	src/harness/sbx_translator_end.c \
	src/harness/sbx_translator_message.c

SBX_TRANSCRIPT_SRCS = \
	src/transcript/sbx_transcript.c

SBX_SRCS = \
	$(SBX_BASE_SRCS) \
	$(SBX_KEY_SRCS) \
	$(SBX_LEASE_SRCS) \
	$(SBX_JOURNAL_SRCS) \
	$(SBX_CHUNK_SRCS) \
	$(SBX_RECORD_SRCS) \
	$(SBX_HARNESS_SRCS) \
	$(SBX_TRANSCRIPT_SRCS)

# Handlers of test vectors: linked into sandboxctl and into the unit tests.
SANDBOXCTL_VECTOR_SRCS = \
	src/sandboxctl/sbx_vector.c \
	src/sandboxctl/sbx_vector_align.c \
	src/sandboxctl/sbx_vector_claude_code.c \
	src/sandboxctl/sbx_vector_exit_probe.c \
	src/sandboxctl/sbx_vector_extra.c \
	src/sandboxctl/sbx_vector_fingerprint.c \
	src/sandboxctl/sbx_vector_instance_store.c \
	src/sandboxctl/sbx_vector_lines.c \
	src/sandboxctl/sbx_vector_prompt.c \
	src/sandboxctl/sbx_vector_resume.c \
	src/sandboxctl/sbx_vector_run_id.c \
	src/sandboxctl/sbx_vector_run_records.c \
	src/sandboxctl/sbx_vector_sandbox_key.c \
	src/sandboxctl/sbx_vector_sse_wire.c \
	src/sandboxctl/sbx_vector_step.c \
	src/sandboxctl/sbx_vector_undefined.c

SANDBOXCTL_SRCS = \
	src/sandboxctl/sandboxctl.c \
	src/sandboxctl/sbx_cmd_chunk.c \
	src/sandboxctl/sbx_cmd_key.c \
	src/sandboxctl/sbx_cmd_prompt.c \
	src/sandboxctl/sbx_cmd_translate.c \
	src/sandboxctl/sbx_cmd_vector.c \
	src/sandboxctl/sbx_ctl_input.c \
	$(SANDBOXCTL_VECTOR_SRCS)

SBX_LIBS = -lyajl -lcrypto -lm
