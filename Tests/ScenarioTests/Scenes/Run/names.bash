# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/names.bash
source "$tests/names.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/clients.bash
source "$tests/clients.bash"

# shellcheck disable=SC2153 # of the test
read -ra clients <<<"$CLIENTS"
build_clients "${clients[@]}"
witness_names
as_member
chmod -R a+rX "$built"
# The words of a client about a name, by a route: `through corp` or `outside`.
told() {
  local client=$1 name=$1-$2-$3 route=(--outside)
  [[ $2 == outside ]] || route=(--through corp)
  local run=("$lab" on laptop "${member[@]}" env HOME="$scene/spoken" "$scene/roamward" run "${route[@]}" --)
  case $client in
  glibc) "${run[@]}" getent ahosts "$name.$4" | awk 'NR == 1 { print $1 }' ;;
  # A browser is asked for the page's text: the server of each place is another one.
  chromium)
    "${run[@]}" timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scene/spoken/profile-$name" \
      --dump-dom "http://$name.$4/" >/dev/null 2>&1 || true
    echo asked
    ;;
  *) "${run[@]}" "$built/$client" "$name.$4" ;;
  esac 2>&1
}
# By all clients at once, and where their names were seen.
ask_all_of() {
  local stage=$1 client route place seen asking=()
  for route in through outside; do
    for client in "${clients[@]}"; do
      told "$client" "$route" "$stage" "$2" >"$scene/told-$client-$route" &
      asking+=($!)
    done
  done
  wait "${asking[@]}" || true
  for route in through outside; do
    for client in "${clients[@]}"; do
      seen=
      for place in cafe gateway; do
        ! grep -q "query.* $client-$route-$stage\\." "$scene/names-$place" || seen+=" $place"
      done
      echo "$stage $route $client: $(<"$scene/told-$client-$route"), seen at${seen:- none}"
    done
  done
}
edit_policy() { sed -i "$1" "$policies/corp.yaml"; }
names_lead_to() { grep -q "^nameserver $1$" "$laptop/resolv.conf"; }

go cafe
start_agent
# Its own names alone: programs are led to our own name server.
tunnel_is corp connected
within 5 names_lead_to 127.82.0.53
ask_all_of split corp.example
# All names, and everything, with a kill switch: programs are led to the tunnel's server itself.
edit_policy 's/class: enterprise/kill-switch: "on"/; s/10.77.0.0.16/default/; s/, match-domains.*]/ /'
within 5 names_lead_to 10.77.0.1
tunnel_is corp connected
ask_all_of list public.example
# A resolver of this machine, as NetworkManager runs one.
roamward down corp --until resume --wait 20 >/dev/null
within 5 names_lead_to 198.51.100.1
dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=127.0.0.1 --server="${server[cafe]}" --pid-file= --cache-size=0
echo 'nameserver 127.0.0.1' >"$laptop/resolv.conf"
edit_policy 's/kill-switch: .*/class: enterprise/; s/include: .default./include: [10.77.0.0\/16]/'
roamward resume corp >/dev/null
tunnel_is corp connected
within 5 eval 'roamward status corp | grep -q "routes: *10.77.0.0/16$"'
ask_all_of local public.example
# Their servers are theirs alone.
mkfifo -m 666 "$scene/spoken/down" "$scene/spoken/out"
"$lab" on laptop "${member[@]}" "$scene/roamward" run --outside -- bash -c 'read <"$0"; dig +short -p 20954 @127.82.0.53 out.public.example' \
  "$scene/spoken/out" >"$scene/told-out" &
listening=$!
within 5 eval '[[ $(programs) == 1 ]]'
say "strangers: $(dig +short +tries=1 +timeout=2 -p 20954 @127.82.0.53 strange.public.example 2>&1 | grep -c 'timed out' || true), seen $(cat "$scene"/names-* | grep -c 'query.*strange' || true)"
echo >"$scene/spoken/out"
wait $listening
say "it itself: $(<"$scene/told-out")"
within 5 eval '[[ $(programs) == 0 ]]'
# Without their tunnel they have no names, and others have.
"$lab" on laptop "${member[@]}" "$scene/roamward" run --through corp -- \
  bash -c 'read <"$0"; getent ahosts bound.public.example || echo "no answer"' "$scene/spoken/down" >"$scene/told-down" &
speaking=$!
within 5 eval '[[ $(programs) == 1 ]]'
roamward down corp --until resume --wait 20 >/dev/null
echo >"$scene/spoken/down"
wait $speaking
say "down: $(<"$scene/told-down"), seen $(cat "$scene"/names-{cafe,gateway} | grep -c 'query.*bound' || true)"
say "others: $("$lab" on laptop getent ahosts free.public.example | awk 'NR == 1 { print $1 }')"
stop_agent
