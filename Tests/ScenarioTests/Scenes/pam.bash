# Words for scenes with a gateway that asks PAM for passwords: a service `roamward` by the module of the gateway's own scenes.
# shellcheck shell=bash disable=SC2154

pam_machine() {
  local modules
  modules=$(echo /lib/*-linux-gnu/security)
  cp -a "$modules" security
  cp -a /etc/pam.d pam.d
  sed '/^roamward-pam:/d' /etc/passwd >passwd
  sed '/^roamward-pam:/d' /etc/group >group
  echo 'roamward-pam:x:990:990::/nonexistent:/usr/sbin/nologin' >>passwd
  echo 'roamward-pam:x:990:' >>group
  cc -shared -fPIC -o security/pam_scene.so "$tests/../../Gateway/GatewayServeTests/Scenes/pam_scene.c" -lpam
  printf 'auth required pam_scene.so\naccount required pam_scene.so\n' >pam.d/roamward
  chmod 644 passwd group security/pam_scene.so pam.d/roamward
  mount --bind security "$modules"
  mount --bind pam.d /etc/pam.d
  mount --bind passwd /etc/passwd
  mount --bind group /etc/group
}

# Answers a question of `office` at a terminal, and prints whether that shows the answer.
typed() { python3 "$tests/terminal" "$1" "$bin/roamward" answer office; }
