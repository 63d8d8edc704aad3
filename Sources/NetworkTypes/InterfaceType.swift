/// What kind of medium a link is, in the words of the policy language. Apple's on-demand rules know the first three.
package enum InterfaceType: String, Hashable, Sendable, CaseIterable, Comparable {
  case ethernet, wifi, cellular
  case usbTether = "usb-tether"
  case bluetooth, bridge, virtual, other

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
