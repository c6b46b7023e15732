
# nginx's make builds the status page, which is one of the module's headers.

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/ngx_symcache_page.h:	$SYMCACHE_PAGE
	$ngx_addon_dir/tools/embed-page $ngx_addon_dir/src/module/status > \$@.new
	mv \$@.new \$@

END
