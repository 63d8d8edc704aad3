/// The medium of a link, as the policy language names it. Apple's on-demand rules know the first three.
package enum InterfaceType: String, Hashable, Sendable, CaseIterable, Comparable {
  /// A wired network adapter (ARPHRD_ETHER with a device of its own).
  case ethernet
  /// A link that nl80211 knows.
  case wifi
  /// A modem of a mobile network.
  case cellular
  /// A phone that shares its network by USB.
  case usbTether = "usb-tether"
  /// A Bluetooth personal area network.
  case bluetooth
  /// A bridge without a hardware port that has carrier; with one, it is of that port's type.
  case bridge
  /// A link without hardware: tunnels, virtual Ethernet, dummies.
  case virtual
  /// Any other medium.
  case other

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
