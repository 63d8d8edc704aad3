#!/usr/bin/env bash
# The metrics of a running gateway with everything that it can have, and Prometheus with the alert rules and the queries of the dashboard.
#
# $1: file: metrics are put into $DOCUMENTS/metrics.prom. server: the same for a pair with its store on a server. prometheus: the server
# $PROMETHEUS collects them, and $PROMTOOL checks them; $RULES and $DASHBOARD are what the packages have. $LOGIN is the client of logins.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"
kind=$1

# --- a pair with one store on a server -----------------------------------------------------------------------------

if [[ $kind == server ]]; then
  # shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/postgresql.bash
  source "$(dirname "${BASH_SOURCE[0]}")/postgresql.bash"
  for name in one two; do
    build "$name"
    mkdir "$name"
    [[ $name == one ]] || cp one/private.key two/
    gateway "$name" store move --existing "$target" >/dev/null
    [[ $name == two ]] || gateway one init --endpoint 192.0.2.10 --pool 10.77.0.0/24 >/dev/null
    serve "$name"
  done
  has_metric() { gateway one metrics | found -xE "$1"; }
  until_so 'the other gateway is seen' has_metric 'roamward_gateway_partners 1'
  until_so 'the machine is as the store says' has_metric 'roamward_gateway_applied 1'
  gateway one metrics --output "$DOCUMENTS/metrics.prom"
  kill_server
  until_so 'the store is away' has_metric 'roamward_gateway_store_up 0'
  has_metric 'roamward_gateway_store_last_reading_seconds [1-9][0-9]*' || fail "no last reading: $(gateway one metrics)"
  ! has_metric 'roamward_gateway_partners .*' || fail 'a partner is known without the store'
  exit
fi

# --- a gateway with a device, logins, relays and the page -----------------------------------------------------------

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
has_metric() { gateway metrics | found -xE "$1"; }
login() { at alice python3 "$LOGIN" 192.0.2.1 51820 "$pin" "$(key)" "$@"; }

# The counters of links are those of this namespace.
mount -t sysfs sysfs /sys
ip link set lo up
ip netns add alice
ip link add to-alice type veth peer name out0 netns alice
ip address add 192.0.2.1/24 dev to-alice
ip link set to-alice up
ip -n alice address add 192.0.2.2/24 dev out0
ip -n alice link set lo up
ip -n alice link set out0 up
gateway init --endpoint 192.0.2.1 --pool 10.77.0.0/24 --pool fd77::/64 >/dev/null
gateway user add alice
gateway user set alice --password <<<'correct horse'
gateway set settings.everybody.routes 10.77.0.0/24
gateway access add ping --from everybody --to 10.77.0.1 --protocol icmp
gateway device add alice/phone >alice.conf
gateway set logins on >/dev/null
pin=$(gateway login show | sed -n 's/.*pin //p')
gateway set relay.port 4443 >/dev/null
gateway set page on >/dev/null
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >gateway.log 2>&1 &
process=$!
until_so 'the gateway takes logins' grep -q 'logins: at TCP port' gateway.log
connect alice
until_so 'a packet passes' at alice busybox ping -c 1 -W 1 10.77.0.1
login laptop alice 'correct horse' | found '^83 ' || fail 'a login fails'
login laptop alice 'wrong horse' | found -F "$wrong" || fail 'a wrong password is not refused'
for line in 'devices\{state="connected"\} 1' 'logins_accepted_total\{methods="password"\} 1' 'applied 1' 'settings_taken 1' \
  'logins_refused_total\{reason="wrongPassword"\} 1' 'service_up\{service="(logins|relay|page)"\} 1'; do
  until_so "there is $line" has_metric "roamward_gateway_$line"
done
[[ $(gateway metrics | grep -c '^roamward_gateway_service_up{.*} 1$') == 3 ]] || fail "services: $(gateway metrics)"

if [[ $kind == file ]]; then
  gateway metrics --output "$DOCUMENTS/metrics.prom"
  # A process that fails is counted, and started again.
  pkill -KILL -P "$process" -f 'roamward-gateway-auth --at-work' || fail 'no process for logins'
  until_so 'the failure is counted' has_metric 'roamward_gateway_worker_failures_total\{worker="logins"\} 1'
  until_so 'logins are offered again' has_metric 'roamward_gateway_service_up\{service="logins"\} 1'
  # Forwarding that another program turns off, where the gateway cannot turn it on.
  echo 0 >/proc/sys/net/ipv4/ip_forward
  mount --bind /proc/sys /proc/sys
  mount -o remount,bind,ro /proc/sys
  until_so 'it is seen that the machine is not as the store says' has_metric 'roamward_gateway_applied 0'
  has_metric 'roamward_gateway_forwarding\{family="ipv4"\} 0' || fail "forwarding: $(gateway metrics)"
  umount /proc/sys
  until_so 'the gateway repairs it' has_metric 'roamward_gateway_applied 1'
  has_metric 'roamward_gateway_forwarding\{family="ipv4"\} 1' || fail "forwarding: $(gateway metrics)"
  # A gateway that hangs is one that runs, and its last look stays.
  kill -STOP "$process"
  look=$(gateway metrics | grep '^roamward_gateway_last_look_seconds ')
  until_so 'the time of the metrics goes on' bash -c "(( \$('$ROAMWARD_BIN/roamward-gateway' metrics --state /run/work/state |
    sed -n 's/^roamward_gateway_metrics_time_seconds //p') > ${look#* } + 20 ))"
  [[ $(gateway metrics | grep '^roamward_gateway_last_look_seconds ') == "$look" ]] || fail 'a gateway that hangs has looked'
  has_metric 'roamward_gateway_up 1' || fail 'a gateway that hangs does not run'
  kill -CONT "$process"
  exit
fi

# --- Prometheus ----------------------------------------------------------------------------------------------------

# As the textfile collector, and its timer.
mkdir www prometheus
chmod 755 . www
write() { gateway metrics --output www/metrics.txt; }
write
"$PROMTOOL" check metrics <www/metrics.txt >promtool.log 2>&1 || fail 'promtool refuses the metrics'
busybox httpd -f -p 127.0.0.1:9100 -h www &
install -m 644 "$RULES" prometheus/rules.yml
cat >prometheus/prometheus.yml <<'YAML'
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files: [rules.yml]
scrape_configs:
  - job_name: node
    metrics_path: /metrics.txt
    static_configs: [{targets: ['127.0.0.1:9100']}]
YAML
# The home of root is closed to others.
touch prometheus/server
mount --bind "$PROMETHEUS" prometheus/server
chmod 644 prometheus/prometheus.yml
chmod 755 prometheus
mkdir prometheus/data
chown 65534:65534 prometheus/data
setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs /run/work/prometheus/server --config.file=prometheus/prometheus.yml \
  --storage.tsdb.path=/run/work/prometheus/data --web.listen-address=127.0.0.1:9090 >prometheus.log 2>&1 &
server=$!
ask() { # PATH [OPTION...]: the answer to a question
  curl --silent --fail --get "http://127.0.0.1:9090/api/v1/$1" "${@:2}"
}
rules_are_well() {
  ask rules | jq -e '[.data.groups[].rules[]] | length > 20 and all(.health == "ok" and .lastEvaluation > "1")' && write
}
is_there() { write && [[ $(ask query --data-urlencode "query=$1" | jq '.data.result | length') -gt 0 ]]; }
is_alert() { write && ask alerts | jq -e --arg name "$1" 'any(.data.alerts[]; .labels.alertname == $name)'; }
until_so 'Prometheus has the metrics' is_there roamward_gateway_up
until_so 'each rule was evaluated, and is well' rules_are_well
has_no_alerts() { write && ask alerts | jq -e '.data.alerts == []'; }
until_so 'no alert is about a gateway that is well' has_no_alerts
# Each query of the dashboard has an answer; a store in a file has no server and no pair.
count=0
while IFS= read -r query; do
  count=$((count + 1))
  [[ $query != *_partner* && $query != *_last_reading_* ]] || continue
  query=${query//\$instance/.*}
  # Refused logins that are new are shown alone.
  [[ $query != *'> 0' ]] || login laptop alice 'wrong horse' >/dev/null
  until_so "the dashboard shows ${query:0:200}" is_there "${query//\$__rate_interval/1m}"
done < <(jq -r '.panels[].targets[]?.expr' "$DASHBOARD")
((count > 25)) || fail "the dashboard has $count queries"
echo "metrics: Prometheus answered $count queries of the dashboard" >&2
# A gateway that ends is an alert, and one that is back is none.
kill "$process"
wait "$process" || fail 'the gateway ends with an error'
until_so 'Prometheus sees that no gateway runs' is_alert RoamwardGatewayDown
(exec "$ROAMWARD_BIN/roamward-gateway" serve --state /run/work/state) >second.log 2>&1 &
is_no_alert() { ! is_alert "$1"; }
until_so 'and that one runs again' is_no_alert RoamwardGatewayDown
kill "$server"
wait "$server" || fail 'Prometheus ends with an error'
