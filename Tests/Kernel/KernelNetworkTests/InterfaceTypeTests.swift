import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("The medium of a link")
struct InterfaceTypeTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: InterfaceType
    var kind: String?
    var hardwareType: UInt16 = 1
    var flags: UInt32 = 0
    var isWiFi = false
    var bus = DeviceAttachment()
  }

  private static let ncm = USBInterfaceClass(0x02, 0x0d, 0x00)
  private static let cases: [Case] = [
    Case(testDescription: "network card", expected: .ethernet, bus: DeviceAttachment(bus: "pci", driver: "e1000e")),
    Case(testDescription: "card without a word from sysfs", expected: .ethernet),
    Case(testDescription: "radio that nl80211 knows", expected: .wifi, isWiFi: true),
    Case(
      testDescription: "radio by its device type", expected: .wifi,
      bus: DeviceAttachment(deviceType: "wlan", bus: "usb", driver: "rtl8xxxu")),
    Case(testDescription: "modem with raw IP", expected: .cellular, hardwareType: 519),
    Case(
      testDescription: "modem by its device type", expected: .cellular,
      bus: DeviceAttachment(deviceType: "wwan", bus: "usb", driver: "cdc_mbim")),
    Case(testDescription: "modem of the WWAN framework", expected: .cellular, kind: "wwan", hardwareType: 0xfffe),
    Case(testDescription: "Bluetooth", expected: .bluetooth, bus: DeviceAttachment(deviceType: "bluetooth")),
    Case(testDescription: "iPhone", expected: .usbTether, bus: DeviceAttachment(bus: "usb", driver: "ipheth")),
    Case(testDescription: "Android by RNDIS", expected: .usbTether, bus: DeviceAttachment(bus: "usb", driver: "rndis_host")),
    Case(
      testDescription: "Android by NCM, with its debug bridge", expected: .usbTether,
      bus: DeviceAttachment(bus: "usb", driver: "cdc_ncm", usbInterfaces: [ncm, USBInterfaceClass(0xff, 0x42, 0x01)])),
    Case(
      testDescription: "Android by ECM, with its pictures", expected: .usbTether,
      bus: DeviceAttachment(
        bus: "usb", driver: "cdc_ether", usbInterfaces: [USBInterfaceClass(0x02, 0x06, 0), USBInterfaceClass(0x06, 0x01, 0x01)])),
    Case(testDescription: "dock by NCM", expected: .ethernet, bus: DeviceAttachment(bus: "usb", driver: "cdc_ncm", usbInterfaces: [ncm])),
    Case(testDescription: "adapter with its own driver", expected: .ethernet, bus: DeviceAttachment(bus: "usb", driver: "r8152")),
    Case(testDescription: "bridge", expected: .bridge, kind: "bridge", bus: DeviceAttachment(deviceType: "bridge")),
    Case(testDescription: "bond", expected: .ethernet, kind: "bond", bus: DeviceAttachment(deviceType: "bond")),
    Case(testDescription: "veth", expected: .ethernet, kind: "veth"),
    Case(testDescription: "VLAN", expected: .ethernet, kind: "vlan"),
    Case(testDescription: "TUN", expected: .virtual, kind: "tun", hardwareType: 0xfffe),
    Case(testDescription: "TAP", expected: .virtual, kind: "tun"),
    Case(testDescription: "WireGuard", expected: .virtual, kind: "wireguard", hardwareType: 0xfffe),
    Case(testDescription: "dummy", expected: .virtual, kind: "dummy"),
    Case(testDescription: "GRE", expected: .virtual, kind: "gre", hardwareType: 778),
    Case(testDescription: "loopback", expected: .virtual, hardwareType: 772, flags: 0x8),
    Case(testDescription: "PPP", expected: .other, kind: "ppp", hardwareType: 512),
    Case(testDescription: "InfiniBand", expected: .other, hardwareType: 32),
  ]

  @Test("follows from kernel and bus, never from the name", arguments: cases)
  func detection(_ example: Case) throws {
    let link = Link(
      index: try #require(InterfaceIndex(2)), name: "wlan0usb0wwan0", kind: example.kind, hardwareType: example.hardwareType,
      flags: example.flags)
    #expect(interfaceType(of: link, isWiFi: example.isWiFi, bus: example.bus) == example.expected)
  }

  @Test("of links that the kernel made", .needsNamespaces)
  func realLinks() throws {
    let links = try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link add br0 type bridge")
      try shell("ip tuntap add tun0 mode tun; ip tuntap add tap0 mode tap")
      return try KernelReader().read().links
    }
    let types = Dictionary(
      uniqueKeysWithValues: links.map { ($0.name, interfaceType(of: $0, isWiFi: false, bus: DeviceAttachment(of: $0))) })
    #expect(types["lan0"] == .ethernet && types["br0"] == .bridge && types["tun0"] == .virtual && types["tap0"] == .virtual)
    #expect(types["lo"] == .virtual)
  }

  @Test("a sysfs of another namespace is not believed")
  func foreignSysfs() throws {
    let root = "/tmp/roamward-sysfs-\(getpid())"
    let device = "\(root)/devices/usb1/1-1"
    try shell(
      """
      mkdir -p \(root)/class/net/net0 \(device)/1-1:1.0 \(device)/1-1:1.1 \(root)/bus/usb \(root)/drivers/cdc_ncm
      cd \(root)/class/net/net0; echo 7 > ifindex; echo 02:00:00:00:00:01 > address; printf 'DEVTYPE=wwan\\nINTERFACE=net0\\nIFINDEX=7\\n' > uevent
      ln -s \(device)/1-1:1.0 device; ln -s \(root)/bus/usb \(device)/1-1:1.0/subsystem; ln -s \(root)/drivers/cdc_ncm \(device)/1-1:1.0/driver
      cd \(device); for i in 0 1; do echo ff > 1-1:1.$i/bInterfaceClass; echo 42 > 1-1:1.$i/bInterfaceSubClass; echo 01 > 1-1:1.$i/bInterfaceProtocol; done
      """)
    defer { _ = try? shell("rm -r \(root)") }
    let mac = MACAddress("02:00:00:00:00:01")
    let own = Link(index: try #require(InterfaceIndex(7)), name: "net0", address: mac)
    #expect(
      DeviceAttachment(of: own, root: root)
        == DeviceAttachment(deviceType: "wwan", bus: "usb", driver: "cdc_ncm", usbInterfaces: [USBInterfaceClass(0xff, 0x42, 0x01)]))
    #expect(
      DeviceAttachment(of: Link(index: try #require(InterfaceIndex(8)), name: "net0", address: mac), root: root) == DeviceAttachment())
    #expect(
      DeviceAttachment(of: Link(index: own.index, name: "net0", address: MACAddress("02:00:00:00:00:02")), root: root) == DeviceAttachment()
    )
    #expect(DeviceAttachment(of: Link(index: own.index, name: "net1", address: mac), root: root) == DeviceAttachment())
  }
}
