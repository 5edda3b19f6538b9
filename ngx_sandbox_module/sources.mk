# Sources of the nginx side.  Read by the add-on's config and by the Makefile.

NGX_SANDBOX_DEPS = \
	ngx_sandbox_module/journal/ngx_sandbox_tail_private.h \
	ngx_sandbox_module/journal/ngx_sandbox_tail_notify.h \
	ngx_sandbox_module/ngx_sandbox.h \
	ngx_sandbox_module/ngx_http_sandbox.h \
	ngx_sandbox_module/redis/ngx_sandbox_redis.h \
	ngx_sandbox_module/redis/ngx_sandbox_redis_private.h \
	ngx_sandbox_module/redis/ngx_sandbox_run_store.h \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_call.h \
	ngx_sandbox_module/lease/ngx_sandbox_lease.h \
	ngx_sandbox_module/lease/ngx_sandbox_lease_private.h \
	ngx_sandbox_module/provider/ngx_sandbox_helper.h \
	ngx_sandbox_module/provider/ngx_sandbox_local.h \
	ngx_sandbox_module/provider/ngx_sandbox_provider.h \
	ngx_sandbox_module/ensure/ngx_sandbox_ensure.h \
	ngx_sandbox_module/journal/ngx_sandbox_tail.h \
	ngx_sandbox_module/ngx_http_sandbox_accept.h \
	ngx_sandbox_module/ngx_http_sandbox_active.h \
	ngx_sandbox_module/ngx_sandbox_conf.h \
	ngx_sandbox_module/run/ngx_sandbox_driver.h \
	ngx_sandbox_module/run/ngx_sandbox_driver_machine.h \
	ngx_sandbox_module/run/ngx_sandbox_mask.h \
	ngx_sandbox_module/run/ngx_sandbox_quit.h \
	ngx_sandbox_module/viewer/ngx_http_sandbox_viewer_output.h \
	ngx_sandbox_module/viewer/ngx_sandbox_feed.h \
	ngx_sandbox_module/viewer/ngx_http_sandbox_viewer.h

NGX_SANDBOX_SRCS = \
	ngx_sandbox_module/redis/ngx_sandbox_redis.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_args.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_call.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_conf.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_conn.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_event.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_greet.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_script.c \
	ngx_sandbox_module/redis/ngx_sandbox_redis_sub.c \
	ngx_sandbox_module/lease/ngx_sandbox_lease.c \
	ngx_sandbox_module/lease/ngx_sandbox_lease_give.c \
	ngx_sandbox_module/lease/ngx_sandbox_lease_queue.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail_conn.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail_fetch.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail_filter.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail_content.c \
	ngx_sandbox_module/journal/ngx_sandbox_tail_notify.c \
	ngx_sandbox_module/ngx_http_sandbox_module.c \
	ngx_sandbox_module/ngx_http_sandbox_accept.c \
	ngx_sandbox_module/ngx_http_sandbox_active.c \
	ngx_sandbox_module/ngx_http_sandbox_block.c \
	ngx_sandbox_module/ngx_http_sandbox_cancel.c \
	ngx_sandbox_module/ngx_http_sandbox_env.c \
	ngx_sandbox_module/ngx_http_sandbox_get.c \
	ngx_sandbox_module/ngx_http_sandbox_response.c \
	ngx_sandbox_module/ngx_http_sandbox_run.c \
	ngx_sandbox_module/ngx_http_sandbox_tenant.c \
	ngx_sandbox_module/ngx_http_sandbox_variables.c \
	ngx_sandbox_module/ngx_sandbox_conf.c \
	ngx_sandbox_module/ngx_sandbox_mem.c \
	ngx_sandbox_module/ensure/ngx_sandbox_ensure.c \
	ngx_sandbox_module/run/ngx_sandbox_adoption.c \
	ngx_sandbox_module/run/ngx_sandbox_driver.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_aftercare.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_batch.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_diverged.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_finish.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_follow.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_launch.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_life.c \
	ngx_sandbox_module/run/ngx_sandbox_driver_watch.c \
	ngx_sandbox_module/run/ngx_sandbox_mask.c \
	ngx_sandbox_module/run/ngx_sandbox_quit.c \
	ngx_sandbox_module/status/ngx_http_sandbox_status.c \
	ngx_sandbox_module/viewer/ngx_http_sandbox_viewer.c \
	ngx_sandbox_module/viewer/ngx_http_sandbox_viewer_output.c \
	ngx_sandbox_module/viewer/ngx_sandbox_feed.c \
	ngx_sandbox_module/viewer/ngx_sandbox_stretch.c \
	ngx_sandbox_module/provider/ngx_sandbox_helper.c \
	ngx_sandbox_module/provider/ngx_sandbox_helper_spawn.c \
	ngx_sandbox_module/provider/ngx_sandbox_local.c \
	ngx_sandbox_module/provider/ngx_sandbox_local_check.c \
	ngx_sandbox_module/provider/ngx_sandbox_local_conf.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_call.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_index.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_instance.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_log.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_reply.c \
	ngx_sandbox_module/redis/ngx_sandbox_run_store_watch.c

SANDBOX_HELPER_SRCS = \
	ngx_sandbox_module/provider/helper/sbh_child.c \
	ngx_sandbox_module/provider/helper/sbh_exec.c \
	ngx_sandbox_module/provider/helper/sbh_files.c \
	ngx_sandbox_module/provider/helper/sbh_frame.c \
	ngx_sandbox_module/provider/helper/sbh_fs.c \
	ngx_sandbox_module/provider/helper/sbh_guard.c \
	ngx_sandbox_module/provider/helper/sbh_isolate.c \
	ngx_sandbox_module/provider/helper/sbh_journal.c \
	ngx_sandbox_module/provider/helper/sbh_launch.c \
	ngx_sandbox_module/provider/helper/sbh_main.c \
	ngx_sandbox_module/provider/helper/sbh_open.c \
	ngx_sandbox_module/provider/helper/sbh_proc.c \
	ngx_sandbox_module/provider/helper/sbh_remove.c \
	ngx_sandbox_module/provider/helper/sbh_run.c \
	ngx_sandbox_module/provider/helper/sbh_sandbox.c
