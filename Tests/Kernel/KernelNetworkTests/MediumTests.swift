import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("The medium of links that lie on others")
struct MediumTests {
  /// Bits: up, running and with carrier; up without carrier.
  private static let up: UInt32 = 0x10043
  private static let idle: UInt32 = 0x1003

  private struct Machine {
    var links: [Link] = []
    var bus: [String: DeviceAttachment] = [:]
    var radios: Set<InterfaceIndex> = []

    mutating func add(
      _ name: String, _ kind: String? = nil, in master: String? = nil, on lower: String? = nil, flags: UInt32 = MediumTests.up,
      bus facts: DeviceAttachment = DeviceAttachment(bus: "pci", driver: "e1000e"), isRadio: Bool = false, isBackup: Bool = false
    ) throws {
      let number = try #require(InterfaceIndex(UInt32(links.count + 1)))
      var link = Link(index: number, name: name, kind: kind, flags: flags, master: index(of: master))
      link.lower = self.index(of: lower)
      link.isBackup = isBackup
      links.append(link)
      bus[name] = facts
      if isRadio { radios.insert(number) }
    }

    func index(of name: String?) -> InterfaceIndex? { links.first { $0.name == name }?.index }

    mutating func activate(_ port: String, of bond: String) {
      let number = index(of: port)
      for i in links.indices where links[i].name == bond { links[i].activePort = number }
    }

    func medium(of name: String) throws -> Medium {
      let number = try #require(index(of: name))
      return try #require(mediums(of: links, radios: radios) { bus[$0.name] ?? DeviceAttachment() }[number])
    }
  }

  @Test("a bond is what its active port is") func bond() throws {
    var machine = Machine()
    try machine.add("bond0", "bond")
    #expect(try machine.medium(of: "bond0").type == .ethernet, "without ports, as most are")
    try machine.add("eth0", in: "bond0", isBackup: true)
    try machine.add("wlan0", in: "bond0", isRadio: true)
    let wifi = try machine.medium(of: "bond0")
    #expect(wifi.type == .wifi && wifi.reason == "its active port wlan0: nl80211 knows it" && wifi.carrier == InterfaceIndex(3))
    machine.activate("eth0", of: "bond0")
    #expect(try machine.medium(of: "bond0").type == .ethernet)
  }

  @Test("a bond that uses several ports is the one that strangers reach most easily") func balance() throws {
    var machine = Machine()
    try machine.add("bond0", "bond")
    try machine.add("eth0", in: "bond0")
    try machine.add("usb0", in: "bond0", bus: DeviceAttachment(bus: "usb", driver: "ipheth"))
    let medium = try machine.medium(of: "bond0")
    #expect(medium.type == .usbTether && medium.reason.contains("rather than eth0 (ethernet)"))
  }

  @Test("a bridge is its hardware port that has carrier; without one it is a bridge") func bridge() throws {
    var machine = Machine()
    try machine.add("br0", "bridge", bus: DeviceAttachment(deviceType: "bridge"))
    try machine.add("vnet0", "tun", in: "br0")
    try machine.add("veth0", "veth", in: "br0")
    try machine.add("wlan0", in: "br0", flags: Self.idle, isRadio: true)
    #expect(try machine.medium(of: "br0").type == .bridge)
    try machine.add("eth0", in: "br0")
    #expect(try machine.medium(of: "br0").type == .ethernet)
  }

  @Test("VLANs and MACVLANs are what they lie on, through any number of others") func stacked() throws {
    var machine = Machine()
    try machine.add("bond0", "bond")
    try machine.add("wwan0", in: "bond0", bus: DeviceAttachment(deviceType: "wwan", bus: "usb", driver: "qmi_wwan"))
    try machine.add("bond0.7", "vlan", on: "bond0")
    try machine.add("mac0", "macvlan", on: "bond0.7")
    let medium = try machine.medium(of: "mac0")
    #expect(medium.type == .cellular && medium.carrier == InterfaceIndex(2))
    #expect(medium.reason == "it lies on bond0.7: it lies on bond0: its active port wwan0: device type wwan")
    try machine.add("mac1", "macvlan")
    #expect(try machine.medium(of: "mac1").type == .ethernet, "what it lies on is in another namespace")
  }

  @Test("a circle, which no kernel makes, is no endless loop") func circle() throws {
    var machine = Machine()
    try machine.add("a", "vlan")
    try machine.add("b", "vlan", on: "a")
    machine.links[0].lower = machine.index(of: "b")
    #expect(try machine.medium(of: "b").type == .other)
  }

  @Test("of links that the kernel made", .needsNamespaces) func real() throws {
    let links = try inNamespaces {
      try shell(
        "ip link add lan0 type veth peer name far0; ip link add br0 type bridge; ip link set lan0 master br0; ip link set lan0 up; ip link set far0 up"
      )
      // Not every kernel has these.
      _ = try? shell("ip link add link lan0 name lan0.7 type vlan id 7")
      _ = try? shell("ip link add link lan0 name mac0 type macvlan")
      _ = try? shell(
        "ip link add bond0 type bond mode active-backup; ip link set far0 down; ip link set far0 master bond0; ip link set bond0 up; ip link set far0 up"
      )
      usleep(300_000)
      return try KernelReader().read().links
    }
    let lan = try #require(links.first { $0.name == "lan0" })
    for name in ["lan0.7", "mac0"] { if let link = links.first(where: { $0.name == name }) { #expect(link.lower == lan.index) } }
    if let bond = links.first(where: { $0.name == "bond0" }),
      let port = links.first(where: { $0.name == "far0" && $0.master == bond.index })
    {
      #expect(bond.activePort == port.index && !port.isBackup)
    }
    #expect(lan.master == links.first { $0.name == "br0" }?.index)
    let found = mediums(of: links, radios: []) { DeviceAttachment(of: $0) }
    let br0 = try #require(links.first { $0.name == "br0" })
    #expect(found[br0.index]?.type == .bridge, "a veth is no hardware")
  }
}
