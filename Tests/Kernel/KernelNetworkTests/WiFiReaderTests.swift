import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("Wi-Fi by nl80211", .needsNamespaces, .serialized)
struct WiFiReaderTests {
  /// Simulated radios, as `mac80211_hwsim` makes them: the tests take them over, so real ones do not count.
  private static let hasSimulatedRadios = access("/sys/module/mac80211_hwsim", F_OK) == 0 && access("/usr/sbin/hostapd", X_OK) == 0

  @Test("a kernel without it, or a namespace without radios, has no facts")
  func absent() throws {
    let facts = try inNamespaces { try WiFiReader().read() }
    #expect(facts.isEmpty)
  }

  @Test(
    "a station's SSID is known, an access point is on no network, and connecting is an event",
    .enabled(if: hasSimulatedRadios, "no simulated radios"))
  func association() throws {
    let folder = "/tmp/roamward-wifi-\(getpid())"
    try shell(
      """
      mkdir -p \(folder); cd \(folder)
      printf 'interface=wlan0\\nssid2=P"Caf\\\\xc3\\\\xa9 \\\\x01"\\nhw_mode=g\\nchannel=1\\n' > ap.conf
      printf 'network={\\n ssid=436166c3a92001\\n key_mgmt=NONE\n scan_freq=2412\\n}\\n' > station.conf
      """)
    let events = try KernelEvents()
    let reader = try WiFiReader()
    let links = try KernelReader().read().links
    let ap = try #require(links.first { $0.name == "wlan0" })
    let station = try #require(links.first { $0.name == "wlan1" })
    let idle = try #require(links.first { $0.name == "wlan2" })
    #expect(reader.read()[station.index]?.ssid == .known(nil))
    #expect(interfaceType(of: station, isWiFi: false, bus: DeviceAttachment(of: station)) == .wifi, "by sysfs alone")
    defer { _ = try? shell("kill $(cat \(folder)/*.pid); rm -r \(folder)") }
    try shell("cd \(folder); hostapd -B -P $PWD/ap.pid ap.conf; ip link set wlan1 up")
    try shell("cd \(folder); wpa_supplicant -B -P $PWD/station.pid -i wlan1 -c station.conf")
    let ssid = try #require(SSID("hex:436166c3a92001"))
    var reasons: KernelChange.Reasons = []
    for _ in 1...300 where reader.read()[station.index]?.ssid != .known(ssid) { usleep(100_000) }
    reasons.formUnion(events.drain().reasons)
    #expect(reasons.isSuperset(of: [.wifi, .links]))
    let facts = reader.read()
    #expect(facts[station.index]?.ssid == .known(ssid))
    #expect(facts[ap.index] == WiFiFacts() && facts[idle.index] == WiFiFacts() && facts.count == 3)
    #expect(try shell("iw dev wlan1 link").contains("SSID: Caf"))
    #expect(facts[station.index]?.bssid == .known(ap.address) && facts[station.index]?.security == .known(.open))
    #expect(reader.read(details: false)[station.index]?.ssid == .known(ssid))

    // Loss of the network is an event too.
    _ = events.drain()
    try shell("kill $(cat \(folder)/ap.pid)")
    for _ in 1...300 where reader.read()[station.index]?.ssid != .known(nil) { usleep(100_000) }
    #expect(reader.read()[station.index]?.ssid == .known(nil))
    #expect(events.drain().reasons.contains(.wifi))
  }

  @Test(
    "a station that roams has another access point on the same network; WPA2 and WPA3 are told apart",
    .enabled(if: hasSimulatedRadios, "no simulated radios"))
  func roaming() throws {
    let folder = "/tmp/roamward-roam-\(getpid())"
    let ap = "ssid=Home\\nhw_mode=g\\nchannel=1\\nwpa=2\\nrsn_pairwise=CCMP\\nwpa_passphrase=correct horse\\n"
    try shell(
      """
      mkdir -p \(folder); cd \(folder)
      printf 'interface=wlan0\n\(ap)wpa_key_mgmt=WPA-PSK\n' > one.conf
      printf 'interface=wlan2\n\(ap)wpa_key_mgmt=SAE\nieee80211w=2\nsae_password=correct horse\n' > two.conf
      printf 'ctrl_interface=\(folder)/control\nnetwork={\n ssid="Home"\n psk="correct horse"\n key_mgmt=WPA-PSK SAE\n ieee80211w=1\n scan_freq=2412\n}\n' > station.conf
      ip link set wlan0 down; ip link set wlan2 down; ip link set wlan1 down
      """)
    let reader = try WiFiReader()
    let links = try KernelReader().read().links
    let one = try #require(links.first { $0.name == "wlan0" })
    let station = try #require(links.first { $0.name == "wlan1" })
    let two = try #require(links.first { $0.name == "wlan2" })
    defer { _ = try? shell("kill $(cat \(folder)/*.pid); rm -r \(folder)") }
    try shell(
      "cd \(folder); hostapd -B -P $PWD/one.pid one.conf; ip link set wlan1 up; wpa_supplicant -B -P $PWD/station.pid -i wlan1 -c station.conf"
    )
    func wait(_ point: Link, _ security: WiFiSecurity) -> WiFiFacts? {
      let expected = WiFiFacts(ssid: .known(SSID("Home")), bssid: .known(point.address), security: .known(security))
      for _ in 1...300 where reader.read()[station.index] != expected { usleep(100_000) }
      return reader.read()[station.index] == expected ? expected : nil
    }
    #expect(wait(one, .wpa2) != nil, "\(String(describing: reader.read()[station.index]))")
    try shell("cd \(folder); hostapd -B -P $PWD/two.pid two.conf")
    let events = try KernelEvents()
    let address = try #require(two.address)
    for _ in 1...30 {
      _ = try? shell("wpa_cli -p \(folder)/control -i wlan1 scan; sleep 2; wpa_cli -p \(folder)/control -i wlan1 roam \(address); sleep 1")
      if reader.read()[station.index]?.bssid == .known(address) { break }
    }
    #expect(wait(two, .wpa3) != nil, "\(String(describing: reader.read()[station.index]))")
    #expect(events.drain().reasons.contains(.wifi))
  }
}
