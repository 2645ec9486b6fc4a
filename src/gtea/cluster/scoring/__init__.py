"""Exact scores of all accounts in parts: contiguous ranges of accounts, about equal in cost.

    survey   what is in a range of accounts: how many are active, what they cost, which are labelled, which are hubs
    plan     where parts begin: where blocks begin
    reach    the neighbours of a part's accounts
    facts    what others read of a part's accounts to describe their own: profiles of partners, labels around them
    encode   the attended slots of a part's accounts; which accounts beyond the part attention has left: its halo
    weigh, attend, embed   the same of a hub with many slots, in pieces that are parts of their own
    share    W_z z + b_1 of the accounts that are in the halo of others; for each layer
    sum      what a piece of a hub adds up; for each layer
    renew    z of the next layer
    answer   scores of a part's accounts, ranked among themselves
    rank     the table of all

The bytes are those of one process, because all is computed in the blocks and pieces of ``gtea.scoring.account_blocks``.
"""
