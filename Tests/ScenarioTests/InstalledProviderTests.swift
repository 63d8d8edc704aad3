import Glibc
import Testing

@Suite("An installed provider", .needsLab)
struct InstalledProviderScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.run("install_plain")
    return scene
  }

  @Test("connects without privileges, carries packets, answers messages, and leaves nothing")
  func life() throws {
    let seen = try scene().run(
      """
      go cafe
      start_server
      remember
      plain_policy </dev/null
      start_agent
      roamward message plain statistics | jq -c .
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      within 5 plain_answers
      say "$(way_to 10.98.0.1)"
      process=$(plain_process)
      say "$(grep -E '^(Uid|Groups|CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs):' "/proc/$process/status" | tr -s '\\t\\n' ' ')"
      tr '\\0' '\\n' <"/proc/$process/environ" | cut -d = -f 1
      roamward message plain statistics | jq -c .
      roamward message plain nonsense 2>&1 || say "status $?"
      say "$(field plain engine) $(field plain usage.processes)"
      roamward down plain >/dev/null
      within 5 field_is plain state disconnected
      within 5 eval '[[ -z $(plain_process) ]]' && say ended
      stop_agent
      as_before
      """)
    #expect(
      seen.lines == [
        "{\"connected\":false,\"dropped\":0}", "[dev plain]",
        "[Uid: 1901244935 1901244935 1901244935 1901244935 Groups: 65534 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 "
          + "CapAmb: 0000000000000000 NoNewPrivs: 1 ]",
        "PATH", "{\"connected\":true,\"dropped\":0}", "roamward: this provider knows `statistics` (unknown-type)", "[status 1]",
        "[plain-udp.py 1.0 1]", "[ended]", "0",
      ])
  }

  @Test("a program that ends before its `hello` is told at once, and started again after pauses; a message is answered with the reason")
  func noHello() throws {
    let seen = try scene().run(
      """
      go cafe
      remember
      plain_policy </dev/null
      start_agent
      : >starts
      chmod 0666 starts
      printf '#!/bin/sh\\necho >>%s/starts\\nexit 3\\n' "$PWD" >"$scene/providers/plain-udp"
      { roamward message plain statistics 2>&1 || true; } | grep -o 'ended with code 3 before its `hello`'
      say "$(wc -l <starts)"
      roamward up plain >/dev/null
      within 3 eval '[[ $(field plain failure) == *"ended with code 3 before its"* ]]'
      say "$(($(wc -l <starts) <= 4))"
      grep -qE 'error .*ended with code 3|failure because=.*ended with code 3' agent.log && say told
      # A library that is missing: the dynamic linker's code.
      printf '#!/bin/sh\\nexit 127\\n' >"$scene/providers/plain-udp"
      within 10 eval '[[ $(field plain failure) == *"a library is missing"* ]]'
      printf '#!/nowhere/sh\\n' >"$scene/providers/plain-udp"
      within 20 eval '[[ $(field plain failure) == *"its interpreter or a library is missing"* ]]'
      roamward down plain >/dev/null
      stop_agent
      as_before
      """)
    #expect(seen.lines == ["ended with code 3 before its `hello`", "[1]", "[1]", "[told]", "0"], "\(seen)")
  }

  @Test("tells what fails: no server, a kill of its program; and connects again by itself")
  func failures() throws {
    let seen = try scene().run(
      """
      go cafe
      start_server
      remember
      plain_policy </dev/null
      start_agent
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      # The server does not answer meanwhile, so that the failure can be seen.
      touch silent
      kill -KILL "$(plain_process)"
      within 10 eval '[[ $(field plain failure) == *ended* ]]' && field plain failure
      rm silent
      within 10 field_is plain state connected
      within 5 plain_answers
      touch silent
      within 25 field_is plain state reasserting
      field plain reason
      rm silent
      within 10 field_is plain state connected
      ip link delete plain
      within 10 eval '[[ $(count_in_log "its link plain is gone") -gt 0 ]]'
      within 10 field_is plain state connected
      within 5 plain_answers
      kill_agent
      within 5 eval '[[ -z $(plain_process) ]]' && say "ended with its agent"
      start_agent
      within 10 field_is plain state connected
      stop_agent
      as_before
      """)
    #expect(
      seen.lines == [
        "the provider of plain ended by itself; see its log (provider-ended)",
        "the server has not answered for 15 s (peer-timeout)", "[ended with its agent]", "0",
      ])
  }

  @Test("with a kill switch: nothing of others leaves while it starts, roams and is killed")
  func killSwitch() throws {
    let seen = try scene().run(
      """
      go cafe
      start_server
      watch_cafe
      within 5 watch_sees && say detected
      sed -i 's|10.98.0.0/24|0.0.0.0/0|' providers/plain-udp.yaml
      plain_policy <<<'    kill-switch: "always"'
      sed -i 's|routes: .10.98.0.0/24.|routes: [0.0.0.0/0]|' "$policies/plain.yaml"
      printf '    routes: { include: [default] }\\n' >>"$policies/plain.yaml"
      start_agent
      within 5 eval 'nft list table inet roamward >/dev/null'
      babble & babbler=$!
      trap 'kill $babbler' EXIT
      # The provider's own packets are UDP; the watch counts TCP and ICMP.
      before=$(clear)
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      within 5 plain_answers
      for _ in 1 2 3; do
        kill -KILL "$(plain_process)"
        within 10 field_is plain state connected
      done
      kill_agent
      sleep 0.3
      start_agent
      within 10 field_is plain state connected
      within 5 plain_answers
      kill $babbler
      trap - EXIT
      say "$(($(clear) - before)) outside"
      stop_agent
      """)
    #expect(seen.lines == ["[detected]", "[0 outside]", "0"])
  }

  @Test(
    "of one tunnel cannot read, trace or stop that of another, whether their user is shared or of their own",
    arguments: [("nobody", "another user, memory no, environment no, signal no"), ("daemon", "the same user, memory no, environment no")])
  func separate(user: String, result: String) throws {
    let seen = try scene().run(
      """
      go cafe
      start_server
      plain_policy </dev/null
      sed -i 's/^user: .*/user: \(user)/' providers/plain-udp.yaml
      # A provider that looks at the processes of another one, and then at its own, to show that looking works.
      cat >providers/spy <<'END'
      #!/usr/bin/env python3
      import os, sys, time
      def look(pid):
          seen = ['the same user' if os.stat(f'/proc/{pid}').st_uid == os.getuid() else 'another user']
          for name, file in (('memory', 'mem'), ('environment', 'environ')):
              try:
                  with open(f'/proc/{pid}/{file}', 'rb') as data: seen.append(f'{name} yes')
              except OSError: seen.append(f'{name} no')
          try:
              os.kill(pid, 0)
              seen.append('signal yes')
          except OSError: seen.append('signal no')
          return ', '.join(seen)
      other = int(open('\(Self.other)').read())
      with open('\(Self.found)', 'w') as out: print(look(other), look(os.getpid()), sep='\\n', file=out)
      time.sleep(60)
      END
      sed -i "s|SCENE|$scene|" providers/spy
      chmod 0755 providers/spy
      sed -e 's/^name: .*/name: spy/' -e "s|^program: .*|program: $scene/providers/spy|" providers/plain-udp.yaml >providers/spy.yaml
      sed -e 's/^  plain:/  spy:/' -e 's|plain-udp.yaml|spy.yaml|' "$policies/plain.yaml" >"$policies/spy.yaml"
      touch found
      chmod 0666 found
      start_agent
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      plain_process >other
      chmod 0644 other
      roamward up spy >/dev/null
      within 10 eval '[[ $(wc -l <found) -eq 2 ]]'
      cat found
      roamward down spy >/dev/null
      stop_agent
      """)
    #expect(seen.lines.first?.hasPrefix(result) ?? false, "\(seen)")
    #expect(seen.lines.dropFirst().first == "the same user, memory yes, environment yes, signal yes", "\(seen)")
  }

  private static let other = "SCENE/other"
  private static let found = "SCENE/found"
}
