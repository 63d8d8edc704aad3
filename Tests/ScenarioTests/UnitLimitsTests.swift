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
    let seen = try Scene().play("UnitLimits/resolv-conf")
    #expect(
      seen.lines == ["[664 65534:65534]", "[as before]", "[664 65533:4]", "[as before]", "[664 0:4]", "[as before]"], "\(seen)")
  }

  @Test("programs of other users get SIGTERM, and end") func others() throws {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.play("UnitLimits/others")
    let seen = try scene.play("UnitLimits/others-2")
    // net_bind_service, net_admin, net_raw, setgid, setuid, setpcap, bpf.
    #expect(seen.lines == ["[00000080000035c0]", "SIGTERM", "0"], "\(seen)")
  }
}
