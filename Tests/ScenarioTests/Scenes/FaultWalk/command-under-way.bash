# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

touch slow
go cafe
remember
start_agent
within 5 test -s up.pid
kill_agent
kill -0 "$(<up.pid)" && say 'still under way'
rm slow
case $RECOVERY in
  cleanup)
    cleanup_agent
    runs "$(<up.pid)" || say ended
    sleep 3.5 # no event: an `up` that went on would make its link three seconds after `slow` is gone
    as_before && say clean ;;
  restart)
    start_agent
    tunnel_is vpn connected 20s
    sleep 3.5 # no event: an `up` that went on would make its link three seconds after `slow` is gone
    field vpn state
    [[ $(way_to 10.99.1.1) == 'dev vpn0' ]] && say routed
    stop_agent
    as_before && say clean ;;
esac
