import Testing

/// The agent with the capabilities of its unit: neither CAP_CHOWN nor CAP_KILL.
@Suite("The agent as poor as its unit makes it", .needsLab)
struct UnitLimitsTests {
  private static let poor = """
    # From the unit itself: CAP_NET_ADMIN -> +net_admin.
    caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$tests/../../../packaging/systemd/roamwardd.service" | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
    mkdir "$scene/poor"
    printf '#!/bin/sh\\nexec setpriv --bounding-set=-all,%s --inh-caps=-all "%s/roamwardd" "$@"\\n' "$caps" "$bin" >"$scene/poor/roamwardd"
    chmod +x "$scene/poor/roamwardd"
    for program in "$bin"/roamward*; do
      [[ ! -f $program || ! -x $program || $program == */roamwardd ]] || ln -s "$program" "$scene/poor/"
    done
    bin=$scene/poor

    """

  @Test("a resolv.conf of another user keeps its owner while it is ours, and is as before afterwards, also after a kill")
  func resolvConf() throws {
    let seen = try Scene().run(
      Self.poor + #"""
        file=$laptop/resolv.conf
        ours() { grep -q '^nameserver 10.77.0.1' "$file"; }
        look_at_file() { stat -c '%F %a %u:%g' "$file"; cat "$file"; ls -A "$laptop" | grep roamward || true; }
        go cafe
        for owner in 65534:65534 65533:4 0:4; do
          chown $owner "$file"; chmod 664 "$file"
          look_at_file >was
          start_agent
          tunnel_is corp connected
          within 5 ours
          say "$(stat -c '%a %u:%g' "$file")"
          kill_agent
          # As if it was killed while it made the file.
          mkdir "$file.roamward-new.d" && touch "$file.roamward-new.d/file"
          ours && start_agent
          tunnel_is corp connected
          stop_agent >/dev/null
          look_at_file >is
          diff was is && say "as before"
        done
        """#)
    #expect(
      seen.lines == ["[664 65534:65534]", "[as before]", "[664 65533:4]", "[as before]", "[664 0:4]", "[as before]"], "\(seen)")
  }

  @Test("programs of other users get SIGTERM, and end") func others() throws {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.run("install_provider openvpn")
    let seen = try scene.run(
      Self.poor + #"""
        cat >"$scene/providers/openvpn" <<END
        #!/bin/bash
        trap "echo SIGTERM >>$scene/told/of; exit" TERM
        echo runs >$scene/told/started
        while :; do sleep 0.1; done
        END
        mkdir -m 0777 told
        printf 'client\nremote 203.0.113.10 1194\n' >"$policies/office.ovpn" && chmod 0600 "$policies/office.ovpn"
        openvpn_policy </dev/null
        go cafe
        start_agent
        say "$(awk '$1 == "CapBnd:" { print $2 }' /proc/$(agent_pid)/status)"
        roamward up office >/dev/null
        within 5 test -s told/started
        roamward down office >/dev/null
        within 5 test -s told/of
        cat told/of
        stop_agent
        """#)
    // net_bind_service, net_admin, net_raw, setgid, setuid, setpcap, bpf.
    #expect(seen.lines == ["[00000080000035c0]", "SIGTERM", "0"], "\(seen)")
  }
}
