package Verify::Properties;

# The properties that a history must have, with their names. Each takes a Verify::History and returns its violations, as
# texts that contain the evidence.

use strict;
use warnings;
use Exporter 'import';
use Verify::Property::Acknowledged;
use Verify::Property::Answers;
use Verify::Property::Atomicity;
use Verify::Property::Balances;
use Verify::Property::Budgets;
use Verify::Property::Conservation;
use Verify::Property::Endings;
use Verify::Property::Fields;
use Verify::Property::InFlight;
use Verify::Property::Liveness;
use Verify::Property::Notices;
use Verify::Property::Operations;
use Verify::Property::Refusals;
use Verify::Property::Safety;
use Verify::Property::Secrecy;

our @EXPORT_OK = qw(properties);

sub properties {
    return (
        [safety => \&Verify::Property::Safety::check], [conservation => \&Verify::Property::Conservation::check],
        [atomicity => \&Verify::Property::Atomicity::check], [liveness => \&Verify::Property::Liveness::check],
        ['revocation and bans' => \&Verify::Property::Endings::check], ['no wrong refusal' => \&Verify::Property::Refusals::check],
        ['budgets of addresses' => \&Verify::Property::Budgets::check], ['acknowledged' => \&Verify::Property::Acknowledged::check],
        ['in flight' => \&Verify::Property::InFlight::check], [notices => \&Verify::Property::Notices::check],
        [operations => \&Verify::Property::Operations::check], [answers => \&Verify::Property::Answers::check],
        [balances => \&Verify::Property::Balances::check], [secrecy => \&Verify::Property::Secrecy::check], [fields => \&Verify::Property::Fields::check],
    );
}

1;
