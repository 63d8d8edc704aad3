# Words for scenes with an agent that dies at a place of its own. $WALK: the walk, by the name that FaultWalkTests has for it.
# shellcheck shell=bash disable=SC2154

# Prepares the scene for the walk.
prepare() {
  case $WALK in
    kill-switch) take_everything ;;
    proxies) [[ -e $scene/etc ]] || prepare_etc ;;
    'policy change') if [[ -e original ]]; then cp original "$policies/corp.yaml"; else cp "$policies/corp.yaml" original; fi ;;
  esac
}
# A folder /etc of the scene's own, with a folder and a database of dconf that every clean-up has to leave as they are.
prepare_etc() {
  own_etc
  type -P dconf >/dev/null || return 0
  mkdir -p /etc/dconf/db/local.d
  printf '[x]\ny=1\n' >/etc/dconf/db/local.d/00-site
  dconf update
  (cd /etc && find . -type d -o -type f | sort) >"$scene/etc.before"
}
# The change on the way, after another network: other routes and other servers while the tunnel is up.
change() {
  [[ $WALK == 'policy change' ]] || return 0
  sed 's|10.77.0.0/16|10.77.0.0/17, 10.78.0.0/16|; s|servers: .10.77.0.1.|servers: [10.77.0.2]|' original >new
  mv new "$policies/corp.yaml"
}
# Whether it is in force.
changed() { [[ $WALK != 'policy change' || $(way_to 10.78.1.1) == 'dev corp' ]]; }
# Starts an agent that dies at a place, without waiting for it to answer.
doomed_agent() {
  rm -f "$scene/agent.exit"
  {
    status=0
    # shellcheck disable=SC2016 # expanded over there
    ROAMWARD_DIE_AT=$1 bash -c 'echo $BASHPID >"$0/agent.pid"; exec "${@:1}"' "$scene" "$bin/roamwardd" --policies "$policies" --policies "$scene/local" --state-dir "$scene/state" \
      --socket "$ROAMWARD_SOCKET" "${inputs[@]}" --settle 0ms --log-level debug || status=$?
    echo "$status" >"$scene/agent.exit"
  } </dev/null >/dev/null 2>>"$scene/agent.log" &
}
gone() { test -s "$scene/agent.exit"; }
is() { gone || [[ $(field corp state 2>/dev/null) == "$1" ]]; }
# The firewall's table may stay after cleaning up: that is what it is for.
without_firewall() { state | awk '/^table (inet|arp) roamward/ { skip = 1 } !skip { print } skip && /^}/ { skip = 0 }'; }
clean() { without_firewall >"$scene/after"; diff "$scene/before" "$scene/after" && proxies_gone; }
proxies_gone() { [[ $WALK != proxies ]] || { etc_as_before && ! grep -rqs 'proxy[.]pac' /etc/dconf /etc/chromium; }; }
notes() { find "$scene/state" -mindepth 1 ! -name lock ! -name policies ! -path '*/history' ! -path '*/history/*' | sort; }
nothing_left() {
  clean && [[ -z $(notes) ]] && [[ -z $(engine_pid corp) ]] && [[ ! -e $ROAMWARD_SOCKET ]]
}
