# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/leaks.bash
source "$tests/leaks.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/browser.bash
source "$tests/browser.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Portal/words.bash
source "$tests/Portal/words.bash"

watch_places
go cafe
see_leaks
start_agent; tunnel_is corp connected; looks >looks.before; stop_agent >/dev/null
open_browser
for time in first second; do
  close_portal
  start_agent
  within 10 eval 'roamward status | sed -n 1p | grep ^blocked:' >/dev/null
  say "$time: $(browser_page)"
  roamward release --portal --only $browser --reason hotel >/dev/null
  forget_leaks; start_strays; strays_try; stop_strays
  say "others: $(leaked)"
  say "others: $(page)"
  within 5 browser_shows_page; say "browser: $(<shown)"
  in_browser busybox nslookup www.example 198.51.100.1 2>&1 | grep -o '203.0.113.80'
  roamward status | sed -n 1p
  sign_in
  tunnel_is corp connected
  within 30 situation_is guarded
  within 10 eval 'looks | diff looks.before -' && say "as if there had been no portal"
  seen_by 203.0.113.80
  stop_agent >/dev/null
done
grep -o 'kill switch suspended by hand how=.*' agent.log | cut -d ' ' -f 1-13 | head -n 1
