# perl_stacks.pl EXPECTED ROUNDS: spends CPU time at places whose stacks it writes to the file EXPECTED, a JSON object:
# the name of the innermost sub, which no other place has, to the list of [name, file, line] of its callers, innermost
# first, as caller() has them. Stacks go through Perl and C in each way that a stack can.
use strict;
use warnings;
use List::Util qw(first reduce any);
use POSIX ();

my $HOLD_S = 0.008;
my (%expected, @ways);

sub seconds { (times)[0] + (times)[1] }

# Spends time in a sub of its own, in a loop of one line.
sub hold {
    my $name = 'at_' . keys %expected;
    eval "sub main::$name { my (\$end) = \@_;\n\n  my \$x = 0; do { for (1 .. 2000) { \$x += \$_ * 3 } } while (main::seconds() < \$end) }\n1" or die $@;
    my (@names, @places);
    for (my $i = 0; my @c = caller($i); $i++) {
        next if $c[3] eq '(eval)' && !defined $c[6]; # of a block: code of the frame outside
        push @names, $c[7] ? '(eval)' : $c[3];
        push @places, [$c[1], $c[2]]; # where it is called
    }
    my @found = ([$names[0], __FILE__, __LINE__ + 3]);
    push @found, [$names[$_] // '{main}', @{$places[$_ - 1]}] for 1 .. @places;
    $expected{"main::$name"} = \@found;
    { no strict 'refs'; &{"main::$name"}(seconds() + $HOLD_S) }
}

package Way {
    use overload '+' => sub { $_[0]{go}->(); 1 }, '""' => sub { $_[0]{go}->(); 'x' }, 'cmp' => sub { 0 };
    our $AUTOLOAD;
    sub new { my ($class, $go) = @_; bless { go => $go }, $class }
    sub method { my ($self, $go) = @_;
        $self->passes($go,
            1) }
    sub passes { $_[1]->() if $_[2] }
    sub AUTOLOAD { return if $AUTOLOAD =~ /DESTROY/; $_[1]->() }
    sub DESTROY { my $self = shift; $self->{destroyed}->() if $self->{destroyed} }
    sub TIESCALAR { bless { go => $_[1] } }
    sub FETCH { $_[0]{go}->(); 1 }
    sub STORE { $_[0]{go}->() }
}

package Base { sub inherited { $_[1]->() } }
package Child { our @ISA = 'Base'; sub inherited { my $self = shift; $self->SUPER::inherited(@_) } }

package main;

sub recurses { my ($go, $depth) = @_; $depth > 0 ? recurses($go, $depth - 1) : $go->() }
sub with_prototype (&@) { my ($code, @rest) = @_; $code->(@rest) }
sub by_goto { goto &{$_[0]} }

my $loaded = POSIX::getcwd() . '/loaded.pl';
open my $out, '>', $loaded or die;
print $out "\n\n\$main::go->();\n1;\n";
close $out;
our $go;

@ways = (
    sub { $_[0]->() },
    sub { &{$_[0]} },
    sub { Way->new->method($_[0]) },
    sub { Way->can('passes')->(undef, $_[0], 1) },
    sub { Way->new->anything($_[0]) },
    sub { Child->inherited($_[0]) },
    sub { my $name = 'recurses'; no strict 'refs'; $name->($_[0], 3) },
    sub { recurses($_[0], 30) },
    sub { my $go = shift; eval { $go->(); 1 } or die $@ },
    sub { my $go = shift; eval "\n\n\$go->(); 1" or die $@ },
    sub { my $go = shift; eval { eval { die 'x' } or $go->(); 1 } },
    sub { my $go = shift; map { $go->() } 1 },
    sub { my $go = shift; grep { $go->(); 1 } 1 },
    sub { my $go = shift; for (1) { if (1) { $go->() } } },
    sub { my $go = shift; my @s = sort { $go->(); 0 } 1, 2 },
    sub { my $go = shift; my $by = sub { $go->(); 0 }; my @s = sort $by 1, 2 },
    sub { my $go = shift; first { $go->(); 1 } 1 },
    sub { my $go = shift; any { $go->(); 1 } 1 },
    sub { my $go = shift; reduce { $go->(); 1 } 1, 2 },
    sub { my $go = shift; my $x = Way->new($go) + 1 },
    sub { my $go = shift; my $x = 'a' . Way->new($go) },
    sub { my $go = shift; tie my $x, 'Way', $go; my $y = $x },
    sub { my $go = shift; tie my $x, 'Way', $go; $x = 1 },
    sub { my $go = shift; { my $x = Way->new; $x->{destroyed} = $go } 1 },
    sub { my $go = shift; (my $s = 'abc') =~ s/b/$go->(); ''/e },
    sub { my $go = shift; with_prototype { $go->() } 1 },
    sub { my $go = shift; by_goto($go) },
    sub { my $go = shift; local $SIG{__WARN__} = sub { $go->() }; warn 'x' },
    sub { my $go = shift; local $SIG{__DIE__} = sub { $go->() }; eval { die 'x' } },
    sub { my $go = shift; local $SIG{USR1} = sub { $go->() }; kill USR1 => $$; 1 },
    sub { local $main::go = shift; do $loaded },
    sub { local $main::go = shift; delete $INC{$loaded}; require $loaded },
);

my $signals = $#ways - 2;

# Each way alone, and then mixtures.
sub walk {
    my @rest = @_;
    return hold() unless @rest;
    my $way = shift @rest;
    $ways[$way]->(sub { walk(@rest) });
}

walk($_) for 0 .. $#ways;
my $random = 7;
for (1 .. $ARGV[1]) {
    my @mixture;
    for (1 .. 5) {
        $random = ($random * 1103515245 + 12345) % 2147483648;
        push @mixture, int($random / 65536) % @ways;
    }
    # A signal within its own handler is delivered when that has ended, to nobody.
    my %seen;
    @mixture = grep { $_ != $signals || !$seen{$_}++ } @mixture;
    walk(@mixture);
}
open my $json, '>', $ARGV[0] or die;
print $json '{', join(",\n", map { my $place = $_; "\"$place\":[" . join(',', map { "[\"$_->[0]\",\"$_->[1]\",$_->[2]]" } @{$expected{$place}}) . ']' } sort keys %expected), "}\n";
