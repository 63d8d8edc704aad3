package import KernelModel
import NetworkTypes

extension NetlinkWriter {
  /// Writes the one message of a step that is sent in batches (`StepTraits.executor`). `link` is the index of the step's device. Nothing is
  /// written for any other step.
  package mutating func write(_ step: Step, link: UInt32?, sequence: UInt32, flags: UInt16) {
    let index = link ?? 0
    switch step {
    case .setAlias(_, let alias): setAlias(alias, ofLink: index, sequence: sequence, flags: flags)
    case .setMTU(_, let mtu, _): setMTU(mtu, ofLink: index, sequence: sequence, flags: flags)
    case .addAddress(let address, _): addAddress(address, toLink: index, sequence: sequence, flags: flags)
    case .removeAddress(let address, _): removeAddress(address, fromLink: index, sequence: sequence, flags: flags)
    case .setUp: setLink(index, isUp: true, sequence: sequence, flags: flags)
    case .addRoute(let route): addRoute(route, linkIndex: link, sequence: sequence, flags: flags)
    case .removeRoute(let route): removeRoute(route, linkIndex: link, sequence: sequence, flags: flags)
    case .addRule(let rule): addRule(rule, sequence: sequence, flags: flags)
    case .removeRule(let rule): removeRule(rule, sequence: sequence, flags: flags)
    default: break
    }
  }
}
