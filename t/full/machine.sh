# What t/full/packages.t runs in a machine with systemd: each line that begins
# with == is a result.  The test puts the commands of README in its place, and
# URI and KEY before it.

say() { echo "== $1: $2"; }
status() { curl -s -o /dev/null -w '%{http_code}%header{retry-after}' "$@"; }
until_is() {
    local want=$1 i; shift
    for i in $(seq 600); do
        [ "$("$@")" = "$want" ] && break
        sleep 0.1
    done
    "$@"
}
sock=/run/symcached/symcached.sock

begun=$(date +%s.%N)
dpkg -i /debs-old/*.deb >/tmp/install.log 2>&1
say installed "$(dpkg-query -W -f '${Version} ' symcached libnginx-mod-symcache)"
say sockets "$(systemctl is-active symcached.socket symbolicated.socket | xargs)"
say services "$(systemctl is-active nginx symcached symbolicated | xargs)"
sudo() { "$@"; }
COMMANDS
say first "$(until_is 200 status http://localhost$URI)"
say seconds "$(echo "$(date +%s.%N) $begun" | awk '{ print $1 - $2 }')"
say symbolicated "$(status --unix-socket /run/symcached/symbolicated.sock http://h/healthz) $(systemctl is-active symbolicated)"
say frame "$(curl -s --unix-socket /run/symcached/symbolicated.sock http://h/symbolicate/v5 -d "{\"memoryMap\": [[\"crash.pdb\", \"$KEY\"]], \"stacks\": [[[0, 10515]]]}" | grep -o '"function": "[^"]*"')"
for unit in symcached symbolicated; do
    say "exposed $unit" "$(systemd-analyze security --no-pager $unit.service | sed -n 's/.*level for .*: \([0-9.]*\).*/\1/p')"
done

# from now on nginx holds requests
sed -i 's|symcache_pass .*|&\n symcache_async_after 65535.65535.65535;|' \
    /etc/nginx/symcache.d/symcache.conf
systemctl restart nginx

# nobody is refused while it is restarted: each key is another one, so that
# symcached is asked, and knows a final answer
sed -i 's/\["local", "msdl"\]/["local"]/' /etc/symcached.json
say reload "$(systemctl reload symcached && systemctl is-active symcached)"
rm -f /tmp/answers /tmp/stop
(until [ -e /tmp/stop ]; do
    status "http://localhost/symcache/v9.0.0/none.pdb/$(tr -d - </proc/sys/kernel/random/uuid | tr a-f A-F)/1"
    echo
done) >/tmp/answers 2>&1 &
asks=$!
for i in 1 2 3 4 5; do
    before=$(wc -l </tmp/answers)
    systemctl restart symcached
    until [ $(wc -l </tmp/answers) -gt $((before + 3)) ]; do sleep 0.1; done
done
touch /tmp/stop
wait $asks
say restarts "$(sort /tmp/answers | uniq -c | xargs)"

# a hung one is ended and started again
mkdir -p /run/systemd/system/symcached.service.d
printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/symcached.service.d/w.conf
systemctl daemon-reload
systemctl restart symcached
systemctl kill -s STOP --kill-whom=main symcached
say hung "$(status --max-time 60 --unix-socket $sock http://h/healthz)"
say result "$(journalctl -u symcached -o cat | grep -o "result 'watchdog'" | head -n 1)"
rm /run/systemd/system/symcached.service.d/w.conf
systemctl daemon-reload

# a wrong configuration is not tried again and again, whoever comes, and a good
# one starts at once
cp /etc/symcached.json /root/good.json
echo '{' >/etc/symcached.json
systemctl restart symcached 2>/dev/null
for i in $(seq 20); do
    status --max-time 1 --unix-socket $sock http://h/healthz >/dev/null
done
say wrong "$(until_is failed systemctl is-active symcached) $(systemctl show -p NRestarts --value symcached) $(journalctl -u symcached -o cat | grep -c 'not valid JSON')"
cp /root/good.json /etc/symcached.json
systemctl start symcached
say mended "$(systemctl is-active symcached)"

# a transcoder in bubblewrap needs the drop-in
sed 's/"none"/"strict"/; s/until .* done; //' /root/gated.json >/etc/symcached.json
systemctl reload symcached
rm -rf /var/cache/symcached/default/crash.pdb
say strict "$(status --max-time 20 "http://localhost$URI")"
cp -r /usr/share/doc/symcached/examples/symcached.service.d /etc/systemd/system/
systemctl daemon-reload
systemctl restart symcached
say dropin "$(until_is 200 status --max-time 20 "http://localhost$URI")"
say "exposed dropin" "$(systemd-analyze security --no-pager symcached.service | sed -n 's/.*level for .*: \([0-9.]*\).*/\1/p')"
rm -f /var/cache/symcached/runs

# an upgrade under a held request
cp /root/gated.json /etc/symcached.json
systemctl reload symcached
rm -rf /var/cache/symcached/default/crash.pdb
curl -s -o /tmp/held -w '%{http_code}\n' http://localhost$URI >/tmp/code &
held=$!
for i in $(seq 600); do [ ! -e /var/cache/symcached/runs ] || break; sleep 0.1; done
pid=$(systemctl show -p MainPID --value symcached)
dpkg -i --force-confold /debs/*.deb >/tmp/dpkg.log 2>&1
say upgraded "$(dpkg-query -W -f '${Version} ' symcached libnginx-mod-symcache) $([ $pid != $(systemctl show -p MainPID --value symcached) ] && echo restarted)"
touch /srv/gate
wait $held
say held "$(cat /tmp/code)"
say edited "$(cmp /root/gated.json /etc/symcached.json && echo kept)"

say journal "$(journalctl -u symcached -o json | grep -c '"PRIORITY":"6".*job store=\|job store=.*"PRIORITY":"6"')"
dpkg -P symcached libnginx-mod-symcache >/tmp/purge.log 2>&1
say purged "$(systemctl list-units --all --plain --no-legend 'sym*' | wc -l) $(ls -d /run/symcached /var/cache/symcached /var/lib/symcached /var/log/sym* /etc/symcached* 2>/dev/null | xargs)"
say nginx "$(nginx -t 2>&1 | grep -c successful)"
say end "$(journalctl -p err -b -o cat --no-pager | grep -i 'symc\|symb' | head -5 | xargs)"
