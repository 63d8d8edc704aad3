import Glibc
import Testing

@Suite("An OpenVPN file", .needsLab, .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"))
struct OpenVPNTests {
  @Test("is imported as it is, and the tunnel that comes of it connects, carries traffic and leaves nothing")
  func imported() throws {
    let scene = try Scene([:])
    try scene.play("openvpn-office")
    let seen = try scene.play("OpenVPN/imported")
    #expect(seen == "[disconnected]\n[reached]\n[dev wlan0]\n0")
  }
}

@Suite(
  "The OpenVPN provider", .needsLab,
  .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"), .marksSockets)
struct OpenVPNProviderScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.play("OpenVPN/set-up")
    return scene
  }

  @Test("sets what the server sends, without privileges, follows the machine to another network, and leaves nothing")
  func life() throws {
    let seen = try scene().play("OpenVPN/life")
    #expect(
      seen.lines == [
        "[dev office dev office dev wlan0]", "[Uid: 1909024657 1909024657 1909024657 1909024657 CapEff: 0000000000000000 ]",
        "{\"connected\":true,\"trouble\":null}", "[no drift]",
        "brought: address 10.99.0.2/24; routes 10.99.0.0/24, 10.98.0.0/16; name servers 10.99.0.1", "0",
      ])
  }

  @Test("says what only a person can remedy, once, and takes the cure")
  func password() throws {
    let seen = try scene().play("OpenVPN/password")
    #expect(
      seen.lines == [
        "office: the server refused the user name or the password; correct it; `roamward answer office` tries again (auth-failed)", "[1]",
        "office: connected",
        "asks:    Password of al\"ice for office; `roamward answer office`", "Password of al\"ice for office", "office: connected",
        "[not in the log]",
        "roamward: office asks nothing now", "0",
      ])
  }

  @Test("a full tunnel with a kill switch: nothing of others leaves, whatever the server or its processes do")
  func killSwitch() throws {
    let seen = try scene().play("OpenVPN/kill-switch")
    #expect(seen.lines == ["[detected]", "[dev office]", "[0 outside]", "0"])
  }
}
