# Rules for what is generated; appended to nginx's own makefile.

ngx_sandbox_scripts=`echo $ngx_addon_dir/ngx_sandbox_module/redis/scripts/*.lua`
ngx_sandbox_embed=$ngx_addon_dir/ngx_sandbox_module/redis/scripts/embed.sh
ngx_sandbox_status=$ngx_addon_dir/ngx_sandbox_module/status

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/ngx_sandbox_redis_scripts.h:	$ngx_sandbox_embed $ngx_sandbox_scripts
	sh $ngx_sandbox_embed \$@ $ngx_sandbox_scripts

$NGX_OBJS/ngx_http_sandbox_status_page.h:	$ngx_sandbox_status/embed.sh $ngx_sandbox_status/page.html
	sh $ngx_sandbox_status/embed.sh \$@ ngx_http_sandbox_status_page_html $ngx_sandbox_status/page.html

END
