package import KernelModel
package import NetworkTypes

/// The class, subclass and protocol of a USB interface (`bInterfaceClass` …).
package struct USBInterfaceClass: Hashable, Sendable {
  package let code: UInt8
  package let subclass: UInt8
  package let protocolCode: UInt8

  package init(_ code: UInt8, _ subclass: UInt8, _ protocolCode: UInt8) {
    self.code = code
    self.subclass = subclass
    self.protocolCode = protocolCode
  }
}

/// The data of sysfs on the hardware of a link.
package struct DeviceAttachment: Equatable, Sendable {
  /// `DEVTYPE` of the uevent file: `wlan`, `wwan`, `bluetooth`, `bridge` …
  package var deviceType: String?
  /// The bus of the device (`usb`, `pci`, `virtio`, `wwan`) and its driver.
  package var bus: String?
  package var driver: String?
  /// Every interface of the USB device, not only the one that makes the link.
  package var usbInterfaces: Set<USBInterfaceClass> = []

  package init(deviceType: String? = nil, bus: String? = nil, driver: String? = nil, usbInterfaces: Set<USBInterfaceClass> = []) {
    self.deviceType = deviceType
    self.bus = bus
    self.driver = driver
    self.usbInterfaces = usbInterfaces
  }
}

/// The interface type of a link, from the link itself (`mediums` examines lower links). Based on the kernel and the bus, never on the name.
/// `isWiFi`: nl80211 knows it.
package func interfaceType(of link: Link, isWiFi: Bool, bus: DeviceAttachment) -> InterfaceType {
  if isWiFi || bus.deviceType == "wlan" { return .wifi }
  if bus.deviceType == "wwan" || bus.bus == "wwan" || link.kind == "wwan" || link.kind == "rmnet" { return .cellular }
  if bus.deviceType == "bluetooth" || bus.bus == "bluetooth" { return .bluetooth }
  if link.isLoopback { return .virtual }
  if let kind = link.kind { return interfaceType(ofKind: kind, link) }
  if link.hardwareType == HardwareType.rawIP { return .cellular }
  if isTether(bus) { return .usbTether }
  switch link.hardwareType {
  case HardwareType.ethernet: return .ethernet
  case HardwareType.none, HardwareType.tunnel, HardwareType.tunnel6, HardwareType.sit, HardwareType.gre, HardwareType.gre6: return .virtual
  default: return .other
  }
}

/// `ARPHRD_*` of linux/if_arp.h.
private enum HardwareType {
  static let ethernet: UInt16 = 1
  static let rawIP: UInt16 = 519
  static let tunnel: UInt16 = 768
  static let tunnel6: UInt16 = 769
  static let sit: UInt16 = 776
  static let gre: UInt16 = 778
  static let gre6: UInt16 = 823
  static let none: UInt16 = 0xfffe
}

/// The type by `IFLA_INFO_KIND`. A link on other links counts as Ethernet, the usual case, if those are not visible.
private func interfaceType(ofKind kind: String, _ link: Link) -> InterfaceType {
  switch kind {
  case "bridge", "openvswitch": .bridge
  case "bond", "team", "veth", "vlan", "macvlan", "macvtap", "ipvlan", "dsa", "hsr", "netvsc", "virt_wifi":
    link.hardwareType == HardwareType.ethernet ? .ethernet : .other
  // PPP over a modem, a serial line or PPPoE: the kernel does not report which.
  case "ppp", "can", "vcan", "ipoib": .other
  default: .virtual
  }
}

/// Whether a USB network link is a phone that shares its connection.
///
/// `ipheth` (iPhones) and `rndis_host` (Android's tethering until 13, and little else: adapters have drivers of their own) always are.
/// `cdc_ether`, `cdc_ncm` and `cdc_eem` are the drivers of Android's newer tethering, but also of standard wired adapters and docks; the
/// link's own interface looks the same on both. The rest of the device distinguishes them: only a phone offers more beside the network.
/// That is pictures or files (class 6), the Android debug bridge (ff/42/01) or Apple's multiplexer (ff/fe/02). A phone with all of these
/// off counts as Ethernet, which is the safe error: no rule for tethers is applied to a wired network.
private func isTether(_ bus: DeviceAttachment) -> Bool {
  guard bus.bus == "usb" else { return false }
  switch bus.driver {
  case "ipheth", "rndis_host": return true
  case "cdc_ether", "cdc_ncm", "cdc_eem":
    let phoneOnly: Set<USBInterfaceClass> = [USBInterfaceClass(0xff, 0x42, 0x01), USBInterfaceClass(0xff, 0xfe, 0x02)]
    return bus.usbInterfaces.contains { $0.code == 0x06 } || !phoneOnly.isDisjoint(with: bus.usbInterfaces)
  default: return false
  }
}
